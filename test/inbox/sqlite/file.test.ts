// @module-tag sqlite
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createSqliteDuplicates, createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it, vi } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { openDatabase, SqliteDatabase } from '../../helpers/sqlite.ts'
import { deliveryOf } from '../deliveries.ts'
import { send, useFolder } from './fixture.ts'

const fixture = useFolder()
const { open, keep } = fixture

describe('the file of a SQLite inbox', () => {
  it('is created on first use, and has no log files when all inboxes are closed', async () => {
    const inbox = open()
    expect(existsSync(fixture.path)).toBe(false)
    await inbox.stats()
    expect(existsSync(fixture.path)).toBe(true)
    await inbox.close()
    expect(readdirSync(fixture.folder.path)).toEqual(['inbox.db'])
  })

  it('is synced to disk with each transaction', async () => {
    const exec = vi.spyOn(SqliteDatabase.prototype, 'exec')
    await send(open())
    const [db] = exec.mock.contexts
    exec.mockRestore()
    expect(db?.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(db?.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
  })

  it.each([1_000, '1000b', '1kb'])(
    'holds pending bodies with a total size of up to maxPendingBytes: %s',
    async (maxPendingBytes) => {
      const inbox = keep(createSqliteInbox({ path: fixture.path, maxPendingBytes }))
      const deliveries = Array.from({ length: 5 }, () => deliveryOf(new Uint8Array(250)))
      const results = await Promise.allSettled(deliveries.map((delivery) => inbox.put(delivery)))
      expect(results.map(({ status }) => status)).toEqual([...Array(4).fill('fulfilled'), 'rejected'])
      await expect(inbox.put(deliveryOf(new Uint8Array(30)))).rejects.toThrow(/is full.*maxPendingBytes/)
      expect(await inbox.put(deliveries[0] as (typeof deliveries)[0])).toBe('duplicate')
      inbox.work({ handle: async () => {} })
      await until(async () => (await inbox.stats()).done === 4)
      expect(await inbox.put(deliveryOf(new Uint8Array(900)))).toBe('stored')
    },
  )

  it.each([0, -1, 1.5, 'x', '1tb'])('rejects %j as maxPendingBytes', (maxPendingBytes) => {
    const path = fixture.path
    expect(() => createSqliteInbox({ path, maxPendingBytes: maxPendingBytes as never })).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringContaining('maxPendingBytes'),
      }),
    )
  })

  it('shrinks when deliveries are removed', async () => {
    const inbox = open()
    for (let i = 0; i < 40; i++) await inbox.put(deliveryOf(new Uint8Array(100_000)))
    await inbox.close()
    expect(statSync(fixture.path).size).toBeGreaterThan(4_000_000)
    const again = open()
    again.work({ handle: async () => {} }, { concurrency: 40 })
    await until(async () => (await again.stats()).done === 40)
    expect(await again.purge({ state: 'done' })).toBe(40)
    await again.close()
    expect(statSync(fixture.path).size).toBeLessThan(400_000)
  })

  it('can hold an inbox and a duplicate store', async () => {
    const inbox = open()
    const duplicates = keep(createSqliteDuplicates({ path: fixture.path }))
    const claims = Promise.all([duplicates.claim('a'), duplicates.claim('a'), inbox.put(deliveryOf())])
    expect(await claims).toEqual(['claimed', 'busy', 'stored'])
  })

  it('keeps done deliveries with the maximum retention', async () => {
    const open = () =>
      keep(createSqliteDuplicates({ path: fixture.path, retention: Number.MAX_SAFE_INTEGER }))
    const [first, second] = [open(), open()]
    expect(await first.claim('a')).toBe('claimed')
    await first.done('a')
    expect(await second.claim('a')).toBe('done')
    const db = openDatabase(fixture.path)
    const { until } = db.prepare("SELECT until FROM claim WHERE id = 'a'").get() as { until: number }
    db.close()
    expect(Number.isSafeInteger(until)).toBe(true) // node:sqlite would throw when it reads a larger number
  })

  const foreignFiles: [string, (path: string) => void][] = [
    [
      'of another program',
      (path) => {
        const db = openDatabase(path)
        db.exec('CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)')
        db.close()
      },
    ],
    [
      'of another program with an application id',
      (path) => {
        const db = openDatabase(path)
        db.exec('PRAGMA application_id = 7')
        db.close()
      },
    ],
    [
      'of another program with a write-ahead log',
      (path) => {
        const db = openDatabase(path)
        db.exec('PRAGMA journal_mode = WAL; CREATE TABLE theirs (a)')
        db.close()
      },
    ],
    ['that is not a database', (path) => writeFileSync(path, 'not a database '.repeat(100))],
  ]
  it.each(foreignFiles)('%s is rejected and not changed', async (_, make) => {
    make(fixture.path)
    const bytes = readFileSync(fixture.path)
    const inbox = open()
    await expect(inbox.stats()).rejects.toThrow(/not an inbox of geohook|not a database/)
    expect(await send(inbox)).toBe(503)
    await inbox.close()
    expect(readFileSync(fixture.path).equals(bytes)).toBe(true)
    expect(readdirSync(fixture.folder.path)).toEqual(['inbox.db'])
  })

  it('of a newer version is used if it is compatible with this one, also while it is open', async () => {
    const older = open()
    await send(older)
    setVersion(8, 7)
    expect(await older.put(deliveryOf())).toBe('stored')
    await older.close()
    const inbox = open()
    expect(await inbox.put(deliveryOf())).toBe('stored')
    inbox.work({ handle: async () => {} })
    await until(async () => (await inbox.stats()).done === 3)
    await inbox.close()
    expect(readVersion()).toEqual({ user_version: 8 })
  })

  it('is rejected from the moment when a newer version makes it incompatible with this one', async () => {
    const inbox = open()
    await send(inbox)
    setVersion(8, 8)
    const rejected = {
      code: 'config_invalid',
      message: expect.stringContaining('has version 8 of the inbox tables'),
    }
    for (const stats of [inbox.stats(), open().stats()]) await expect(stats).rejects.toMatchObject(rejected)
    await expect(inbox.put(deliveryOf())).rejects.toMatchObject(rejected)
    const { number } = query('SELECT count(*) AS number FROM delivery') as { number: number }
    expect(number).toBe(1)
    setVersion(8, 7)
    expect(await inbox.put(deliveryOf())).toBe('stored')
  })

  it('of an incompatible newer version is rejected and not changed', async () => {
    const older = open()
    await send(older)
    await older.close()
    setVersion(99, 99)
    const bytes = readFileSync(fixture.path)
    const inbox = open()
    await expect(inbox.put(deliveryOf())).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('has version 99 of the inbox tables'),
      hint: expect.stringContaining('use that version'),
    })
    await inbox.close()
    expect(readFileSync(fixture.path).equals(bytes)).toBe(true)
  })

  it.each([undefined, '', ':memory:', 7, 'file:inbox.db', ' inbox.db', 'inbox.db\n', 'a\0b'])(
    'rejects the path %j',
    (path) => {
      for (const create of [createSqliteInbox, createSqliteDuplicates])
        expect(() => create({ path: path as string })).toThrow(
          expect.objectContaining({ code: 'config_invalid' }),
        )
    },
  )
})

/** Changes the file as a newer version of geohook would whose tables only `compatible` and newer versions can use. */
function setVersion(version: number, compatible: number): void {
  const db = openDatabase(fixture.path)
  db.exec(`UPDATE meta SET compatible = ${compatible}; PRAGMA user_version = ${version}`)
  db.close()
}

function query(sql: string): unknown {
  const db = openDatabase(fixture.path)
  const row = db.prepare(sql).get()
  db.close()
  return row
}

const readVersion = () => query('PRAGMA user_version')
