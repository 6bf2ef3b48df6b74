// @module-tag sqlite
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { deliveryOf } from '../deliveries.ts'
import { send, useFolder } from './fixture.ts'

const fixture = useFolder()
const { open } = fixture

/** How many transactions are in the log of the database: the last page of each bears the size of the whole. */
function commitsOf(path: string): number {
  const log = readFileSync(`${path}-wal`)
  const frame = 24 + log.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) > 0) commits++
  return commits
}

describe('transactions', () => {
  it('what comes at once shares them, what comes one by one does not', async () => {
    const inbox = open()
    await inbox.put(deliveryOf())
    const start = commitsOf(fixture.path)
    await Promise.all(Array.from({ length: 50 }, () => inbox.put(deliveryOf())))
    expect(commitsOf(fixture.path) - start).toBe(1)
    for (let i = 0; i < 10; i++) await inbox.put(deliveryOf())
    expect(commitsOf(fixture.path) - start).toBe(11)
    expect(await inbox.stats()).toMatchObject({ waiting: 61 })
  })

  it('50 requests at once share few', async () => {
    const inbox = open()
    await send(inbox)
    const start = commitsOf(fixture.path)
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(inbox)))
    expect(answers.filter((status) => status === 202).length).toBe(50)
    expect(commitsOf(fixture.path) - start).toBeLessThanOrEqual(5)
  })

  it('what fails in them by itself leaves nothing, and the others alone', async () => {
    const inbox = open()
    const bodyless = { ...deliveryOf(), rawBody: { length: 3 } as Uint8Array }
    const nameless = { ...deliveryOf(), id: {} as string }
    const all = [deliveryOf(), bodyless, deliveryOf(), nameless, deliveryOf()]
    const ends = await Promise.allSettled(all.map((one) => inbox.put(one)))
    const [stored, failed] = ['fulfilled', 'rejected']
    expect(ends.map(({ status }) => status)).toEqual([stored, failed, stored, failed, stored])
    expect((await inbox.list()).entries.map(({ id }) => id)).toEqual([all[0]?.id, all[2]?.id, all[4]?.id])
    expect(await inbox.stats()).toMatchObject({ waiting: 3 })
  })

  it('what comes at once is no more than maxPending, from several inboxes', async () => {
    const [first, second] = [open({ maxPending: 7 }), open({ maxPending: 7 })]
    const puts = Array.from({ length: 20 }, (_, i) => (i % 2 ? first : second).put(deliveryOf()))
    const ends = await Promise.allSettled(puts)
    expect(ends.filter(({ status }) => status === 'fulfilled').length).toBe(7)
    expect((await first.list()).entries.length).toBe(7)
  })

  it('what is large is spread over several, and the event loop has its turn between them', async () => {
    const inbox = open()
    await inbox.put(deliveryOf())
    const large = () => deliveryOf(new Uint8Array(500_000))
    expect(
      await turnsDuring(() => Promise.all(Array.from({ length: 40 }, () => inbox.put(large())))),
    ).toBeGreaterThan(8)
    expect(await inbox.put(deliveryOf(new Uint8Array(6_000_000)))).toBe('stored')
    const handled: string[] = []
    let claims = 0
    const handle = async ({ id }: { id: string }) => {
      if (handled.push(id) === 1) setImmediate(() => (claims = handled.length))
    }
    inbox.work({ handle }, { concurrency: 1_000 })
    await until(async () => (await inbox.stats()).done === 42)
    // The first claim got no more than some megabytes.
    expect(claims).toBeLessThan(20)
    expect(handled.length).toBe(42)
    expect(await inbox.purge({ state: 'done' })).toBe(42)
  })
})

/** How often the event loop goes round meanwhile. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await work()
  isOver = true
  return turns
}
