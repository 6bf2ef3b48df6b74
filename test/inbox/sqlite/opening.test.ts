// @module-tag sqlite
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createSqliteDuplicates, createSqliteInbox } from 'geohook/sqlite'
import { expect, it, vi } from 'vitest'
import { SqliteDatabase } from '../../helpers/sqlite.ts'
import { root } from '../../package/entries.ts'
import { useFolder } from './fixture.ts'

const fixture = useFolder()

/** Program that another process runs to create the file. */
const CREATE_PROGRAM = `
  import { createSqliteInbox } from 'geohook/sqlite'
  const inbox = createSqliteInbox({ path: process.argv[1] })
  await inbox.stats()
  await inbox.close()`

it.each(['PRAGMA user_version', 'PRAGMA application_id', 'SELECT count(*) FROM sqlite_schema'])(
  'accepts a file that another process creates while it is checked: %s',
  async (statement) => {
    const { prepare } = SqliteDatabase.prototype
    let created = 0
    const spy = vi.spyOn(SqliteDatabase.prototype, 'prepare').mockImplementation(function (sql) {
      if (sql === statement && created++ === 0) {
        const args = ['--input-type=module', '--eval', CREATE_PROGRAM, fixture.path]
        // The other process may create the file, or fail because this check holds a lock. The test accepts both.
        spawnSync(process.execPath, args, { cwd: root, timeout: 60_000 })
      }
      return prepare.call(this, sql)
    })
    try {
      expect(await fixture.open().stats()).toMatchObject({ waiting: 0 })
    } finally {
      spy.mockRestore()
    }
    expect(created).toBeGreaterThan(0)
  },
)

const paths: [string, (path: string) => string, RegExp, RegExp][] = [
  [
    'a file that is not a database',
    (path) => {
      writeFileSync(path, 'not a database '.repeat(100))
      return path
    },
    /inbox\.db is not a database/,
    /a file of its own, or restore a backup/,
  ],
  ['a folder', dirname, /is a folder/, /path of a file/],
  [
    'a missing folder',
    (path) => join(dirname(path), 'away/inbox.db'),
    /away\/inbox\.db is in a folder that does not exist/,
    /Create the folder .*away/,
  ],
  [
    'a file as its folder',
    (path) => {
      writeFileSync(path, '')
      return join(path, 'inbox.db')
    },
    /is not in a folder: .*inbox\.db is a file/,
    /another path/,
  ],
  ['a name that is too long', (path) => `${path}${'x'.repeat(300)}`, /is too long/, /shorter/],
]
it.each(paths)('rejects %s with an error that names the path and the fix', async (_, make, message, hint) => {
  const path = make(fixture.path)
  const rejected = {
    code: 'config_invalid',
    message: expect.stringMatching(message),
    hint: expect.stringMatching(hint),
  }
  await expect(fixture.keep(createSqliteInbox({ path })).stats()).rejects.toMatchObject(rejected)
  await expect(fixture.keep(createSqliteDuplicates({ path })).claim('a')).rejects.toMatchObject(rejected)
})

it('an inbox stays closed if it is closed while its first read opens the file', async () => {
  const { path } = fixture
  const inbox = createSqliteInbox({ path })
  const reading = inbox.stats()
  await inbox.close()
  expect((await reading).waiting).toBe(0)
  // SQLite deletes the log when the last connection closes.
  expect(existsSync(`${path}-wal`)).toBe(false)
  await expect(inbox.stats()).rejects.toThrow('the store is closed')
})
