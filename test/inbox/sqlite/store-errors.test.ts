// @module-tag sqlite
import { existsSync } from 'node:fs'
import type { DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { SqliteDatabase } from '../../helpers/sqlite.ts'
import { deliveryOf } from '../deliveries.ts'
import { beforeStatements, errorsOf, failNext, replaceFs } from './faulty-calls.ts'
import { useFolder } from './fixture.ts'

const fixture = useFolder()
const open = (): DurableInbox =>
  fixture.keep(createSqliteInbox({ path: fixture.path, observer: { trouble() {} } }))

const COUNT = 'SELECT * FROM total'
const INSERT = 'INSERT INTO content VALUES (last_insert_rowid(), ?, ?)'
const TAKE = `UPDATE task SET state = 1, attempts = ?, token = ?, alone = ?, owner = ?, started = ?, due = ?
     WHERE seq = ? AND handler = ?`

/** Counts the calls of `close` until the test ends. */
function spyOnClose() {
  const close = vi.spyOn(SqliteDatabase.prototype, 'close')
  onTestFinished(() => close.mockRestore())
  return close
}

describe('an error of SQLite', () => {
  it.each([
    ['a full disk', 13, 'SQLITE_FULL', false],
    ['a failed write', 778, 'SQLITE_IOERR_WRITE', false],
    ['a log that cannot be created', 14, 'SQLITE_CANTOPEN', false],
    ['a damaged file', 11, 'SQLITE_CORRUPT', true],
    ['a lock', 5, 'SQLITE_BUSY', true],
  ])(
    'about %s rejects the delivery, and keeps the reserve unless the disk is the cause',
    async (_, number, name, kept) => {
      const errors = failNext('COMMIT')
      for (const error of errorsOf(number, name)) {
        const inbox = open()
        await inbox.put(deliveryOf())
        errors.push(error)
        await expect(inbox.put(deliveryOf())).rejects.toBe(error)
        expect([name, existsSync(`${fixture.path}-reserve`)]).toEqual([name, kept])
        expect(await inbox.put(deliveryOf())).toBe('stored')
        await inbox.close()
      }
      expect(await open().stats()).toMatchObject({ waiting: 4 })
    },
  )

  it.each(['ENOSPC', 'SQLITE_CANTOPEN', 'EMFILE'])(
    '%s, when the file is opened, rejects, and keeps the reserve unless the disk is the cause',
    async (code) => {
      const first = open()
      await first.put(deliveryOf())
      await first.close()
      const error = Object.assign(new Error('injected'), { code })
      replaceFs('openSync', (openSync) => (path, ...options) => {
        if (path === fixture.path) throw error
        return openSync(path, ...options)
      })
      await expect(open().stats()).rejects.toBe(error)
      expect(existsSync(`${fixture.path}-reserve`)).toBe(code === 'EMFILE')
    },
  )

  it.each([
    ['SQLITE_TOOBIG', 18],
    ['SQLITE_CONSTRAINT_NOTNULL', 1299],
    ['SQLITE_MISMATCH', 20],
    ['SQLITE_RANGE', 25],
  ])('about a value, %s, rejects only the delivery with this value', async (name, number) => {
    const errors = failNext(INSERT)
    for (const error of errorsOf(number, name)) {
      errors.push(error, error) // the operation runs again in a savepoint
      const inbox = open()
      const results = await Promise.allSettled([inbox.put(deliveryOf()), inbox.put(deliveryOf())])
      expect(results).toEqual([
        { status: 'rejected', reason: error },
        { status: 'fulfilled', value: 'stored' },
      ])
      await inbox.close()
    }
    expect(await open().stats()).toMatchObject({ waiting: 2 })
  })

  it('about the file rejects all deliveries of the transaction', async () => {
    const errors = failNext(INSERT)
    for (const error of errorsOf(11, 'SQLITE_CORRUPT')) {
      errors.push(error)
      const inbox = open()
      const results = await Promise.allSettled([inbox.put(deliveryOf()), inbox.put(deliveryOf())])
      expect(results).toEqual(Array(2).fill({ status: 'rejected', reason: error }))
    }
    expect(await open().stats()).toMatchObject({ waiting: 0 })
  })

  it('when a delivery is taken makes no dead letter', async () => {
    const dead: string[] = []
    const errors = failNext(TAKE, errorsOf(10, 'SQLITE_IOERR').slice(0, 1))
    const inbox = open()
    await inbox.put(deliveryOf())
    inbox.work({ handle: async () => {} })
    await until(async () => {
      const { entries } = await inbox.list()
      dead.push(...entries.filter(({ state }) => state === 'dead').map(({ id }) => id))
      return entries[0]?.state === 'done'
    })
    expect([dead, errors]).toEqual([[], []])
  })

  it.each([
    [
      'keeps the file open on a full disk, if the log can be moved into the database',
      13,
      'SQLITE_FULL',
      [0, 0],
    ],
    ['opens the file again if it is damaged', 11, 'SQLITE_CORRUPT', [1, 2]],
  ])('%s', async (_, number, name, expected) => {
    const errors = failNext('COMMIT')
    const inbox = open()
    await inbox.put(deliveryOf())
    const close = spyOnClose()
    const closed: number[] = []
    for (const error of errorsOf(number, name)) {
      errors.push(error)
      await expect(inbox.put(deliveryOf())).rejects.toBe(error)
      closed.push(close.mock.calls.length)
      expect(await inbox.put(deliveryOf())).toBe('stored')
    }
    expect(closed).toEqual(expected)
  })
})

it('a SQLite inbox opens its file again on a full disk if the log cannot be moved into it', async () => {
  const [error] = errorsOf(13, 'SQLITE_FULL')
  let isFull = false
  beforeStatements((sql) => {
    if (isFull && (sql === 'COMMIT' || sql.startsWith('PRAGMA wal_checkpoint'))) throw error
  })
  const inbox = open()
  await inbox.put(deliveryOf())
  const close = spyOnClose()
  isFull = true
  await expect(inbox.put(deliveryOf())).rejects.toBe(error)
  isFull = false
  expect(close.mock.calls.length).toBe(1)
})

describe('a failed read', () => {
  it('opens the file again after an error of SQLite, but not after another error', async () => {
    const errors = failNext(COUNT)
    const inbox = open()
    await inbox.stats()
    const close = spyOnClose()
    const closed: number[] = []
    for (const error of [new Error('ours'), ...errorsOf(11, 'SQLITE_CORRUPT')]) {
      errors.push(error)
      await expect(inbox.stats()).rejects.toBe(error)
      closed.push(close.mock.calls.length)
      expect(await inbox.stats()).toMatchObject({ waiting: 0 })
    }
    expect(closed).toEqual([0, 1, 2])
  })

  it('is repeated if the file is locked, and keeps the file open', async () => {
    const errors = failNext(COUNT, [...errorsOf(5, 'SQLITE_BUSY'), ...errorsOf(261, 'SQLITE_BUSY_RECOVERY')])
    const inbox = open()
    await inbox.list()
    const close = spyOnClose()
    expect(await inbox.stats()).toMatchObject({ waiting: 0 })
    expect([close.mock.calls.length, errors]).toEqual([0, []])
  })

  it('is rejected if the file is locked for two seconds', async () => {
    const [error] = errorsOf(5, 'SQLITE_BUSY')
    beforeStatements((statement) => {
      if (statement === COUNT) throw error
    })
    const start = performance.now()
    await expect(open().stats()).rejects.toBe(error)
    expect(performance.now() - start).toBeGreaterThan(1_900)
  })
})
