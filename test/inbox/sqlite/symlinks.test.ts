// @module-tag sqlite

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { deliveryOf } from '../deliveries.ts'
import { useFolder } from './fixture.ts'

describe('a SQLite inbox whose path is a symbolic link', () => {
  const fixture = useFolder()
  let file = ''
  let link = ''
  beforeEach(() => {
    mkdirSync(join(fixture.folder.path, 'real'))
    file = join(fixture.folder.path, 'real/inbox.db')
    link = fixture.folder.fileIn('link.db')
    symlinkSync('real/inbox.db', link)
  })
  const open = (path: string) => fixture.keep(createSqliteInbox({ path, observer: { trouble() {} } }))

  it.each([[['-wal']], [['-shm']], [['-wal', '-shm']]])(
    'rejects one delivery and loses none if the log files of the target are deleted: %s',
    async (ends) => {
      const inbox = open(link)
      await inbox.put(deliveryOf())
      for (const end of ends) rmSync(`${file}${end}`)
      await expect(inbox.put(deliveryOf())).rejects.toThrow('was deleted or replaced')
      await inbox.put(deliveryOf())
      for (const path of [link, file]) expect((await open(path).stats()).waiting).toBe(2)
    },
  )

  it('keeps all four files in the folder of the target, readable by their owner only', async () => {
    await open(link).put(deliveryOf())
    expect(readdirSync(fixture.folder.path).sort()).toEqual(['link.db', 'real'])
    for (const end of ['', '-wal', '-shm', '-reserve'])
      expect([end, statSync(`${file}${end}`).mode & 0o777]).toEqual([end, 0o600])
  })

  it('opens the new target after the link is changed', async () => {
    const inbox = open(link)
    await inbox.put(deliveryOf())
    const next = fixture.folder.fileIn('next.db')
    await open(next).put(deliveryOf())
    symlinkSync(next, `${link}-new`)
    renameSync(`${link}-new`, link)
    await expect(inbox.put(deliveryOf())).rejects.toThrow('was deleted or replaced')
    await inbox.put(deliveryOf())
    expect((await open(next).stats()).waiting).toBe(2)
    expect((await open(file).stats()).waiting).toBe(1)
  })

  it('follows links to links, links to missing files and links to folders', async () => {
    symlinkSync('real', join(fixture.folder.path, 'folder'))
    const far = fixture.folder.fileIn('far.db')
    symlinkSync('folder/../link.db', far)
    await open(far).put(deliveryOf())
    expect(existsSync(`${file}-wal`)).toBe(true)
    expect((await open(join(fixture.folder.path, 'folder/inbox.db')).stats()).waiting).toBe(1)
  })

  it('rejects a link that leads back to itself, and one into a missing folder', async () => {
    const loop = fixture.folder.fileIn('loop.db')
    symlinkSync('loop.db', loop)
    await expect(open(loop).stats()).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('leads back to itself'),
    })
    const away = fixture.folder.fileIn('away.db')
    symlinkSync('missing/inbox.db', away)
    await expect(open(away).stats()).rejects.toMatchObject({ code: 'config_invalid' })
  })
})
