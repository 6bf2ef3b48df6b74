// @module-tag sqlite
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, rmSync, statSync } from 'node:fs'
import type { DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { hold, openDatabase } from '../../helpers/sqlite.ts'
import { root } from '../../package/entries.ts'
import { deliveryOf } from '../deliveries.ts'
import { beforeStatements, replaceFs } from './faulty-calls.ts'
import { useFolder } from './fixture.ts'

const fixture = useFolder()
const open = (): DurableInbox =>
  fixture.keep(createSqliteInbox({ path: fixture.path, observer: { trouble() {} } }))

// Without its check every second, an inbox notices a deleted file in the next call. (`until` lets this time pass.)
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

const SELECT = 'SELECT count(*) FROM delivery'
const DELETED = 'was deleted or replaced'

/** Lets another process read the file, and keep it open. */
async function holdOpen(sql: string): ReturnType<typeof hold> {
  const other = await hold(fixture.path, sql)
  onTestFinished(async () => void (await other.stop('SIGKILL')))
  return other
}

const remove = (...ends: string[]): void => {
  for (const end of ends) rmSync(`${fixture.path}${end}`)
}

const PUT_PROGRAM = `
  import { createSqliteInbox } from 'geohook/sqlite'
  const [path, ...ids] = process.argv.slice(1)
  const inbox = createSqliteInbox({ path })
  await inbox.stats().catch(() => {})
  for (const id of ids)
    await inbox.put({ id, rawBody: new Uint8Array(3_000), contentType: '', headers: {}, receivedAt: new Date(),
      profile: 'service', payload: {}, events: [], changeTypes: [] })
  process.exit()`

/** Reads the file in another process, and puts deliveries with these ids, while nothing runs in this process. */
function putInOtherProcess(...ids: string[]): void {
  const args = ['--input-type=module', '--eval', PUT_PROGRAM, fixture.path, ...ids]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root })
  expect(status, String(stderr)).toBe(0)
}

describe('an inbox whose files are deleted while another process has them open', () => {
  it.each([[['-wal']], [['-shm']], [['-wal', '-shm']]])('saves the deleted log: %s', async (ends) => {
    const inbox = open()
    for (let i = 0; i < 3; i++) await inbox.put(deliveryOf())
    await holdOpen(SELECT)
    remove(...ends)
    await expect(inbox.put(deliveryOf())).rejects.toThrow(DELETED)
    const database = fixture.folder.fileIn('copy.db')
    copyFileSync(fixture.path, database)
    expect(countIn(database)).toBe(3)
  })

  it('saves the deleted log even if another process has created an empty one', async () => {
    const inbox = open()
    for (let i = 0; i < 3; i++) await inbox.put(deliveryOf())
    await holdOpen(SELECT)
    remove('-wal')
    putInOtherProcess()
    expect(statSync(`${fixture.path}-wal`).size).toBe(0)
    await expect(inbox.put(deliveryOf())).rejects.toThrow(DELETED)
    expect(await inbox.put(deliveryOf())).toBe('stored')
    expect(countIn(fixture.path)).toBe(4)
  })

  it.each([
    ['a third process has the file open', true],
    ['no other process has it open', false],
  ])('does not write a deleted log over the newer one of another process if %s', async (_, isHeld) => {
    const inbox = open()
    await inbox.put(deliveryOf(new Uint8Array(100_000)))
    const db = openDatabase(fixture.path)
    db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    db.close()
    if (isHeld) await holdOpen(SELECT)
    remove('-wal')
    putInOtherProcess('one', 'two')
    // With the index of the new log, SQLite may find the file damaged before the inbox finds the log replaced.
    await expect(inbox.put(deliveryOf())).rejects.toThrow()
    expect(await inbox.put(deliveryOf())).toBe('stored')
    expect((await inbox.list()).entries.length).toBe(4)
    const after = openDatabase(fixture.path)
    expect(after.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    after.close()
  })

  it('keeps the deleted log open until the other process lets it save the log', async () => {
    const inbox = open()
    await inbox.put(deliveryOf())
    const reader = await holdOpen(`BEGIN; ${SELECT}`)
    for (let i = 0; i < 3; i++) await inbox.put(deliveryOf())
    remove('-wal')
    for (let i = 0; i < 3; i++) await expect(inbox.put(deliveryOf())).rejects.toThrow(DELETED)
    await expect(inbox.stats()).rejects.toThrow(DELETED)
    await reader.stop('SIGKILL')
    await until(() => inbox.put(deliveryOf()).then(Boolean, () => false))
    expect((await inbox.stats()).waiting).toBe(5)
  })

  it('does not wait for another process if the database is deleted, too', async () => {
    const inbox = open()
    await inbox.put(deliveryOf())
    await holdOpen(`BEGIN; ${SELECT}`)
    await inbox.put(deliveryOf())
    remove('', '-wal', '-shm')
    await expect(inbox.put(deliveryOf())).rejects.toThrow(DELETED)
    expect(await inbox.put(deliveryOf())).toBe('stored')
    expect((await inbox.stats()).waiting).toBe(1)
  })
})

describe('an inbox whose log is deleted', () => {
  it('rejects one read, and then returns all deliveries', async () => {
    const inbox = open()
    await inbox.put(deliveryOf())
    remove('-wal')
    await expect(inbox.stats()).rejects.toThrow(DELETED)
    expect((await inbox.stats()).waiting).toBe(1)
  })

  it('rejects a delivery if this happens during its transaction', async () => {
    let isRemoved = false
    beforeStatements((sql) => {
      if (isRemoved || !sql.startsWith('INSERT INTO content')) return
      isRemoved = true
      remove('-wal')
    })
    const inbox = open()
    await expect(inbox.put(deliveryOf())).rejects.toThrow(DELETED)
    expect(await inbox.put(deliveryOf())).toBe('stored')
  })

  it('rejects a delivery if this happens while the file is opened', async () => {
    let isRemoved = false
    replaceFs(
      'statSync',
      (statSync) =>
        ((path: string, options: never) => {
          if (path === `${fixture.path}-wal` && !isRemoved) {
            isRemoved = true
            remove('-wal')
          }
          return statSync(path, options)
        }) as never,
    )
    const inbox = open()
    await expect(inbox.put(deliveryOf())).rejects.toThrow(DELETED)
    expect(await inbox.put(deliveryOf())).toBe('stored')
  })
})

it('waits with its first write until it can move a log that it found empty', async () => {
  const first = open()
  await first.put(deliveryOf())
  await first.close()
  let begun = 0
  beforeStatements((sql) => {
    if (sql === 'BEGIN IMMEDIATE') begun++
  })
  const inbox = open()
  await inbox.stats()
  const reader = await holdOpen(`BEGIN; ${SELECT}`)
  putInOtherProcess('one')
  let isSettled = false
  const settled = inbox
    .put(deliveryOf())
    .finally(() => {
      isSettled = true
    })
    .catch(() => inbox.put(deliveryOf())) // on a slow machine, the lock lasts too long for the first call
  await until(() => begun > 4 || isSettled)
  expect(isSettled).toBe(false)
  await reader.stop('SIGKILL')
  await settled
  expect((await inbox.stats()).waiting).toBe(3)
})

it('closes its file even if another process reads an older state of it', async () => {
  const inbox = open()
  await inbox.put(deliveryOf())
  const reader = await holdOpen(`BEGIN; ${SELECT}`)
  await inbox.put(deliveryOf())
  await inbox.close()
  await reader.stop('SIGKILL')
  // SQLite deletes the log when the last connection closes.
  const last = open()
  await last.stats()
  await last.close()
  expect(existsSync(`${fixture.path}-wal`)).toBe(false)
})

function countIn(path: string): number {
  const db = openDatabase(path)
  const { count } = db.prepare('SELECT count(*) AS count FROM delivery').get() as { count: number }
  db.close()
  return count
}
