// @module-tag sqlite
import { readFileSync } from 'node:fs'
import { createSqliteRows } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { deliveryOf } from '../deliveries.ts'
import { beforeStatements } from './faulty-calls.ts'
import { send, useFolder } from './fixture.ts'

const fixture = useFolder()
const { open } = fixture

/** Counts the transactions in the log. Only the last frame of a transaction contains the size of the database. */
function commitsOf(path: string): number {
  const log = readFileSync(`${path}-wal`)
  const frame = 24 + log.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) > 0) commits++
  return commits
}

describe('transactions', () => {
  it('are shared only by concurrent operations', async () => {
    const inbox = open()
    await inbox.put(deliveryOf())
    const start = commitsOf(fixture.path)
    await Promise.all(Array.from({ length: 50 }, () => inbox.put(deliveryOf())))
    expect(commitsOf(fixture.path) - start).toBe(1)
    for (let i = 0; i < 10; i++) await inbox.put(deliveryOf())
    expect(commitsOf(fixture.path) - start).toBe(11)
    expect(await inbox.stats()).toMatchObject({ waiting: 61 })
  })

  it('are few for 50 concurrent requests', async () => {
    const inbox = open()
    await send(inbox)
    const start = commitsOf(fixture.path)
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(inbox)))
    expect(answers.filter((status) => status === 202).length).toBe(50)
    expect(commitsOf(fixture.path) - start).toBeLessThanOrEqual(5)
  })

  it('are shared by at most 250 operations with 2 MiB', async () => {
    const rows = fixture.keep(createSqliteRows({ path: fixture.path }))
    const layer = { service: 'https://gis.example.com/server/rest/services/Parcels/FeatureServer', id: 0 }
    let commits = 0
    beforeStatements((sql) => {
      if (sql === 'COMMIT') commits++
    })
    const commitsFor = async (lengths: number[]) => {
      commits = 0
      await Promise.all(
        lengths.map((length) =>
          rows.write(layer, [{ key: 'k', objectId: undefined, value: 'x'.repeat(length - 1) }], 1),
        ),
      )
      return commits
    }
    await rows.write(layer, [], 1)
    const half = 1024 ** 2
    expect(await commitsFor(Array(250).fill(1))).toBe(1)
    expect(await commitsFor(Array(251).fill(1))).toBe(2)
    expect(await commitsFor([...Array(255).fill(1), 2 * half])).toBe(2 + 1)
    expect(await commitsFor([half, half])).toBe(1)
    expect(await commitsFor([half, half + 1])).toBe(2)
    expect(await commitsFor([3 * half, 1])).toBe(2)
  })

  it('roll back an operation that fails, and keep the others', async () => {
    const inbox = open()
    const bodyless = { ...deliveryOf(), rawBody: { length: 3 } as Uint8Array }
    const nameless = { ...deliveryOf(), id: {} as string }
    const all = [deliveryOf(), bodyless, deliveryOf(), nameless, deliveryOf()]
    const results = await Promise.allSettled(all.map((one) => inbox.put(one)))
    const [stored, failed] = ['fulfilled', 'rejected']
    expect(results.map(({ status }) => status)).toEqual([stored, failed, stored, failed, stored])
    expect((await inbox.list()).entries.map(({ id }) => id)).toEqual([all[0]?.id, all[2]?.id, all[4]?.id])
    expect(await inbox.stats()).toMatchObject({ waiting: 3 })
  })

  it('do not exceed maxPending for concurrent puts of several inboxes', async () => {
    const [first, second] = [open({ maxPending: 7 }), open({ maxPending: 7 })]
    const puts = Array.from({ length: 20 }, (_, i) => (i % 2 ? first : second).put(deliveryOf()))
    const results = await Promise.allSettled(puts)
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(7)
    expect((await first.list()).entries.length).toBe(7)
  })

  it('are limited in size, so that the event loop runs between them', async () => {
    const inbox = open()
    await inbox.put(deliveryOf())
    const large = () => deliveryOf(new Uint8Array(500_000))
    expect(
      await ticksDuring(() => Promise.all(Array.from({ length: 40 }, () => inbox.put(large())))),
    ).toBeGreaterThan(8)
    expect(await inbox.put(deliveryOf(new Uint8Array(6_000_000)))).toBe('stored')
    for (let i = 0; i < 60; i++) await inbox.put(deliveryOf())
    const handled: string[] = []
    let handledAtTick = 0
    const handle = async ({ id }: { id: string }) => {
      if (handled.push(id) === 1) setImmediate(() => (handledAtTick = handled.length))
    }
    inbox.work({ handle }, { concurrency: 1_000 })
    await until(async () => (await inbox.stats()).done === 102)
    // Workers take at most 50 deliveries in a transaction, and then let the event loop run.
    expect(handledAtTick).toBeLessThanOrEqual(50)
    expect(handled.length).toBe(102)
    expect(await inbox.purge({ state: 'done' })).toBe(102)
  })
})

/** Counts event loop ticks during an operation. */
async function ticksDuring(work: () => Promise<unknown>): Promise<number> {
  let ticks = 0
  let hasEnded = false
  const count = (): void => {
    ticks++
    if (!hasEnded) setImmediate(count)
  }
  setImmediate(count)
  await work()
  hasEnded = true
  return ticks
}
