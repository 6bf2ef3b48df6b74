// @module-tag sqlite
import { spawnSync } from 'node:child_process'
import { expect, it, vi } from 'vitest'
import { SqliteDatabase } from '../helpers/sqlite.ts'
import { root } from '../package/entries.ts'
import { useFolder } from './files.ts'

const fixture = useFolder()

/** What another process does that makes the file. */
const MAKE = `
  import { createSqliteInbox } from 'geohook/sqlite'
  const inbox = createSqliteInbox({ path: process.argv[1] })
  await inbox.stats()
  await inbox.close()`

it.each(['PRAGMA user_version', 'PRAGMA application_id', 'SELECT count(*) FROM sqlite_schema'])(
  'a file that another process makes between two looks at it is no stranger: %s',
  async (look) => {
    const { prepare } = SqliteDatabase.prototype
    let made = 0
    const spy = vi.spyOn(SqliteDatabase.prototype, 'prepare').mockImplementation(function (sql) {
      if (sql === look && made++ === 0) {
        const args = ['--input-type=module', '--eval', MAKE, fixture.path]
        // It fails where it is made to wait until this look is over, which is as good.
        spawnSync(process.execPath, args, { cwd: root, timeout: 10_000 })
      }
      return prepare.call(this, sql)
    })
    try {
      expect(await fixture.open().stats()).toMatchObject({ waiting: 0 })
    } finally {
      spy.mockRestore()
    }
    expect(made).toBeGreaterThan(0)
  },
)
