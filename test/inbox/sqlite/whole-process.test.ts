// @module-tag sqlite
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { expect, it } from 'vitest'
import { root } from '../../package/entries.ts'
import { send, useFolder } from './fixture.ts'

const fixture = useFolder()

it.skipIf(process.platform === 'win32')(
  'the file of a SQLite inbox is readable by its owner only, like its log files',
  async () => {
    const before = process.umask(0)
    try {
      await send(fixture.open())
    } finally {
      process.umask(before)
    }
    const modes = readdirSync(fixture.folder.path).map((name) => [
      name,
      (statSync(fixture.folder.fileIn(name)).mode & 0o777).toString(8),
    ])
    expect(modes.sort()).toEqual([
      ['inbox.db', '600'],
      ['inbox.db-reserve', '600'],
      ['inbox.db-shm', '600'],
      ['inbox.db-wal', '600'],
    ])
  },
)

it('the file of a SQLite inbox does not change if the working directory changes', async () => {
  const before = process.cwd()
  let inbox: DurableInbox | undefined
  try {
    process.chdir(fixture.folder.path)
    inbox = fixture.keep(createSqliteInbox({ path: 'here.db' }))
  } finally {
    process.chdir(before)
  }
  await inbox.stats()
  expect(existsSync(fixture.folder.fileIn('here.db'))).toBe(true)
})

// Root can access every file, so the test runs a child process as another user.
it.skipIf(process.getuid?.() !== 0)(
  'rejects a file and a folder without permission, with an error that names the path and the fix',
  () => {
    const tryAsNobody = (path: string) => {
      const program = `
      import { createSqliteInbox } from 'geohook/sqlite'
      import { statSync } from 'node:fs'
      // Loads the packages before the process drops its privileges.
      await createSqliteInbox({ path: process.argv[1] + '-own' }).stats()
      process.setgid(65534)
      process.setuid(65534)
      await createSqliteInbox({ path: process.argv[1] }).stats().catch(({ code, message, hint }) => {
        console.log([code, message, hint].join('; '))
      })
      process.exit()`
      const args = ['--input-type=module', '--eval', program, path]
      return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' }).stdout
    }
    const rejection = (path: string) =>
      `config_invalid; ${path} cannot be read and written; Give this user access to the file and its folder.\n`
    chmodSync(fixture.folder.path, 0o755)
    writeFileSync(fixture.path, '')
    chmodSync(fixture.path, 0o444)
    expect(tryAsNobody(fixture.path)).toBe(rejection(fixture.path))
    const inside = join(fixture.folder.path, 'closed')
    mkdirSync(inside, { mode: 0o700 })
    expect(tryAsNobody(join(inside, 'inbox.db'))).toBe(rejection(join(inside, 'inbox.db')))
  },
)
