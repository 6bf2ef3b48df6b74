// @module-tag sqlite
import { rmSync } from 'node:fs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { lock, openDatabase, SqliteDatabase } from '../../helpers/sqlite.ts'
import { deliveryOf } from '../deliveries.ts'
import { beforeStatements, replaceFs } from './faulty-calls.ts'
import { useFolder } from './fixture.ts'

const fixture = useFolder()
const { open } = fixture

const readAll = (db: { prepare(sql: string): { get(): unknown } } | undefined, names: readonly string[]) =>
  Object.assign({}, ...names.map((name) => db?.prepare(`PRAGMA ${name}`).get()))

describe('the connection to a SQLite file', () => {
  it('has the documented settings', async () => {
    const exec = vi.spyOn(SqliteDatabase.prototype, 'exec')
    await open().put(deliveryOf())
    const [db] = exec.mock.contexts
    exec.mockRestore()
    const expected = {
      auto_vacuum: 2,
      fullfsync: 1,
      journal_mode: 'wal',
      journal_size_limit: 16 * 1024 ** 2,
      synchronous: 2,
      temp_store: 2,
      wal_autocheckpoint: 1_000,
    }
    expect(readAll(db, Object.keys(expected))).toEqual(expected)
  })

  it('prepares each statement once', async () => {
    const prepare = vi.spyOn(SqliteDatabase.prototype, 'prepare')
    const inbox = open()
    for (let i = 0; i < 3; i++) await inbox.put(deliveryOf())
    const prepared = prepare.mock.calls.map(([sql]) => sql)
    prepare.mockRestore()
    expect(prepared).toContain('BEGIN IMMEDIATE')
    expect(prepared).toEqual([...new Set(prepared)])
  })

  it('waits for the disk with each commit, also when it takes deliveries', async () => {
    const modes: string[] = []
    beforeStatements((sql) => {
      for (const [, mode = ''] of sql.matchAll(/synchronous = (\w+)/g)) modes.push(mode)
    })
    const inbox = open()
    await inbox.put(deliveryOf())
    inbox.work({ handle: async () => {} })
    await until(async () => (await inbox.stats()).done === 1)
    expect(modes).toEqual(['FULL'])
  })

  it('stays open while another process locks the file, and then stores and takes deliveries', async () => {
    let begun = 0
    beforeStatements((sql) => {
      if (sql === 'BEGIN IMMEDIATE') begun++
    })
    const inbox = open()
    await inbox.put(deliveryOf())
    const close = vi.spyOn(SqliteDatabase.prototype, 'close')
    onTestFinished(() => close.mockRestore())
    const locker = await lock(fixture.path)
    // On a slow machine, the lock lasts too long for the first call.
    const putting = inbox.put(deliveryOf()).catch(() => inbox.put(deliveryOf()))
    try {
      inbox.work({ handle: async () => {} })
      begun = 0
      await until(() => begun > 3)
    } finally {
      await locker.stop('SIGKILL')
    }
    expect(await putting).toBe('stored')
    await until(async () => (await inbox.stats()).done === 2)
    expect(close.mock.calls.length).toBe(0)
  })

  it('can be opened and read while another process locks the file for writing', async () => {
    const first = open()
    await first.put(deliveryOf())
    const locker = await lock(fixture.path)
    try {
      expect((await open().stats()).waiting).toBe(1)
    } finally {
      await locker.stop('SIGKILL')
    }
  })

  it('is rejected on a file system without shared memory', async () => {
    const { prepare } = SqliteDatabase.prototype
    const spy = vi.spyOn(SqliteDatabase.prototype, 'prepare').mockImplementation(function (sql) {
      const isMode = sql === 'PRAGMA journal_mode = WAL'
      return prepare.call(this, isMode ? 'PRAGMA journal_mode = DELETE' : sql)
    })
    onTestFinished(() => spy.mockRestore())
    await expect(open().stats()).rejects.toMatchObject({
      code: 'config_invalid',
      message: `${fixture.path} is on a file system without shared memory`,
    })
  })

  it.each([
    [
      'an empty file with a version',
      'user_version = 5',
      'is a database, but not an inbox of geohook',
      'Give the inbox a file of its own.',
    ],
    [
      'an inbox without a version',
      'application_id = 1734699115',
      expect.stringMatching(
        /^has version 0 of the inbox tables, but this version of geohook supports only 1 to \d+$/,
      ),
      expect.stringContaining('use another path'),
    ],
  ])('is rejected for %s', async (_, pragma, problem, hint) => {
    const db = openDatabase(fixture.path)
    db.exec(`PRAGMA ${pragma}`)
    db.close()
    const error = await open()
      .stats()
      .catch((error) => error)
    expect(error).toMatchObject({ code: 'config_invalid', hint })
    expect(error.message.replace(`${fixture.path} `, '')).toEqual(problem)
  })

  it('creates a file that is deleted just when it is found', async () => {
    const first = open()
    await first.put(deliveryOf())
    await first.close()
    replaceFs('openSync', (openSync) => (path, flags, mode) => {
      try {
        return openSync(path, flags, mode)
      } catch (error) {
        rmSync(path, { force: true })
        throw error
      }
    })
    expect((await open().stats()).waiting).toBe(0)
  })
})
