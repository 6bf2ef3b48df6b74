// @module-tag sqlite
import {
  appendFileSync,
  existsSync,
  fstatSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { backupSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { deliveryOf } from '../deliveries.ts'
import { beforeStatements, errorsOf, replaceFs } from './faulty-calls.ts'
import { useFolder } from './fixture.ts'

const fixture = useFolder()
const filesIn = () => readdirSync(fixture.folder.path).sort()

async function createInbox(): Promise<void> {
  const inbox = fixture.open()
  await inbox.put(deliveryOf())
  await inbox.close()
}

describe('a backup of a SQLite inbox', () => {
  it('rejects a missing inbox, and creates no file', async () => {
    await expect(backupSqliteInbox(fixture.path, fixture.folder.fileIn('copy.db'))).rejects.toMatchObject({
      code: 'config_invalid',
      message: `${fixture.path} does not exist`,
      hint: 'Give the path of an inbox.',
    })
    expect(filesIn()).toEqual([])
  })

  it.each([
    ['a file', (to: string) => writeFileSync(to, '')],
    ['a link to a missing file', (to: string) => symlinkSync('missing', to)],
  ])('rejects the path of %s, before it opens the inbox', async (_, make) => {
    const to = fixture.folder.fileIn('copy.db')
    make(to)
    writeFileSync(fixture.path, 'not a database '.repeat(100))
    await expect(backupSqliteInbox(fixture.path, to)).rejects.toMatchObject({
      code: 'config_invalid',
      message: `${to} exists already`,
      hint: 'Give another path: a backup replaces nothing.',
    })
    expect(filesIn()).toEqual(['copy.db', 'inbox.db'])
  })

  it.each([
    ['missing/copy.db', 'is in a folder that does not exist'],
    ['inbox.db/copy.db', 'is not in a folder'],
  ])('rejects the path %s', async (name, message) => {
    await createInbox()
    const to = join(fixture.folder.path, name)
    const copying = backupSqliteInbox(fixture.path, to)
    await expect(copying).rejects.toThrow(`${to} ${message}`)
    await expect(copying).rejects.toMatchObject({ code: 'config_invalid' })
  })

  it('rejects a file that is not an inbox, and leaves no partial copy', async () => {
    writeFileSync(fixture.path, 'not a database '.repeat(100))
    const copying = backupSqliteInbox(fixture.path, fixture.folder.fileIn('copy.db'))
    await expect(copying).rejects.toThrow('is not a database')
    expect(filesIn()).toEqual(['inbox.db'])
  })

  it('closes the inbox, and leaves only the copy', async () => {
    await createInbox()
    await backupSqliteInbox(fixture.path, fixture.folder.fileIn('copy.db'))
    expect(filesIn()).toEqual(['copy.db', 'inbox.db', 'inbox.db-reserve'])
  })

  it('flushes the copy before it gets its name, then its folder, and closes both', async () => {
    await createInbox()
    const events: string[] = []
    const open = new Set<number>()
    replaceFs('fsyncSync', (fsyncSync) => (handle) => {
      events.push(fstatSync(handle).isDirectory() ? 'folder' : 'copy')
      open.add(handle)
      fsyncSync(handle)
    })
    replaceFs('closeSync', (closeSync) => (handle) => {
      open.delete(handle)
      closeSync(handle)
    })
    replaceFs('linkSync', (linkSync) => (part, to) => {
      events.push('name')
      linkSync(part, to)
    })
    await backupSqliteInbox(fixture.path, fixture.folder.fileIn('copy.db'))
    expect(events).toEqual(process.platform === 'win32' ? ['copy', 'name'] : ['copy', 'name', 'folder'])
    expect(open.size).toBe(0)
  })

  it('begins again if the file was locked after a part was copied', async () => {
    await createInbox()
    const errors = errorsOf(5, 'SQLITE_BUSY')
    beforeStatements((sql) => {
      if (!sql.startsWith('VACUUM INTO') || errors.length === 0) return
      const part = filesIn().find((name) => name.endsWith('-part')) ?? ''
      appendFileSync(fixture.folder.fileIn(part), 'some pages')
      throw errors.shift()
    })
    await backupSqliteInbox(fixture.path, fixture.folder.fileIn('copy.db'))
    expect(errors).toEqual([])
    expect(filesIn()).toEqual(['copy.db', 'inbox.db', 'inbox.db-reserve'])
  })

  it.each([
    ['', false],
    [', also if the file with the name of the copy was removed', true],
  ])(
    'leaves no file if it cannot rename the copy on a file system without hard links%s',
    async (_, isRemoved) => {
      await createInbox()
      const to = fixture.folder.fileIn('copy.db')
      const error = Object.assign(new Error('injected'), { code: 'EIO' })
      replaceFs('linkSync', () => () => {
        throw Object.assign(new Error('injected'), { code: 'EPERM' })
      })
      replaceFs('renameSync', () => () => {
        expect(existsSync(to)).toBe(true)
        if (isRemoved) rmSync(to)
        throw error
      })
      await expect(backupSqliteInbox(fixture.path, to)).rejects.toBe(error)
      expect(filesIn()).toEqual(['inbox.db', 'inbox.db-reserve'])
    },
  )
})
