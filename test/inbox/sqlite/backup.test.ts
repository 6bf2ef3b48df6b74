// @module-tag sqlite

import { type linkSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { backupSqliteInbox, createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { startNode } from '../../helpers/process.ts'
import { root } from '../../package/entries.ts'
import { deliveryOf } from '../deliveries.ts'
import { replaceFs } from './faulty-calls.ts'
import { useFolder } from './fixture.ts'

/** Program that begins a backup and kills itself before SQLite writes the copy. */
const KILLED_BACKUP = `
  import { createRequire } from 'node:module'
  import { backupSqliteInbox } from 'geohook/sqlite'
  const Database = process.getBuiltinModule('node:sqlite')?.DatabaseSync ??
    createRequire(import.meta.url)('better-sqlite3')
  const { prepare } = Database.prototype
  Database.prototype.prepare = function (sql) {
    if (sql.startsWith('VACUUM')) process.kill(process.pid, 'SIGKILL')
    return prepare.call(this, sql)
  }
  await backupSqliteInbox(process.argv[1], process.argv[2])`

describe('a backup of a SQLite inbox', () => {
  const fixture = useFolder()
  const copies = () => readdirSync(fixture.folder.path).filter((name) => name.startsWith('copy'))
  const waitingIn = async (path: string) => (await fixture.keep(createSqliteInbox({ path })).stats()).waiting
  const rejected = { code: 'config_invalid', message: expect.stringContaining('exists already') }

  it('does not change an open inbox whose file is named like a part file', async () => {
    const path = fixture.folder.fileIn('copy-part')
    const inbox = fixture.keep(createSqliteInbox({ path }))
    await inbox.put(deliveryOf())
    await backupSqliteInbox(path, fixture.folder.fileIn('copy'))
    await inbox.put(deliveryOf())
    expect([await waitingIn(path), await waitingIn(fixture.folder.fileIn('copy'))]).toEqual([2, 1])
  })

  it('leaves only a part file if its process is killed', async () => {
    await fixture.open().put(deliveryOf())
    const to = fixture.folder.fileIn('copy.db')
    const args = ['--input-type=module', '--eval', KILLED_BACKUP, fixture.path, to]
    const { child, exited } = startNode(args, {}, { cwd: root })
    await exited
    expect(child.signalCode).toBe('SIGKILL')
    expect(copies()).toEqual([expect.stringMatching(/^copy\.db-[0-9a-f]{16}-part$/)])
    await backupSqliteInbox(fixture.path, to)
    expect(await waitingIn(to)).toBe(1)
  })

  const notSupported: typeof linkSync = () => {
    throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' })
  }
  it.each([
    ['with hard links', undefined],
    ['without hard links', notSupported],
  ])('replaces no file that was created during the backup, on a file system %s', async (_, link) => {
    await fixture.open().put(deliveryOf())
    const to = fixture.folder.fileIn('copy.db')
    replaceFs('linkSync', (linkSync) => (part, name) => {
      writeFileSync(to, 'mine')
      ;(link ?? linkSync)(part, name)
    })
    await expect(backupSqliteInbox(fixture.path, to)).rejects.toMatchObject(rejected)
    expect(readFileSync(to, 'utf8')).toBe('mine')
    expect(copies()).toEqual(['copy.db'])
  })

  it('works on a file system without hard links', async () => {
    await fixture.open().put(deliveryOf())
    const to = fixture.folder.fileIn('copy.db')
    replaceFs('linkSync', () => notSupported)
    await backupSqliteInbox(fixture.path, to)
    expect(copies()).toEqual(['copy.db'])
    expect(await waitingIn(to)).toBe(1)
  })
})
