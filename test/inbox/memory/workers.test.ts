import { createReceiver, type HandlerContext } from 'geohook'
import { createMemoryInbox, type MemoryInboxOptions } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { uniquePayload, until } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'

const quiet = { failed() {}, dead() {}, trouble() {} }

/** Creates an inbox with a manual clock and one delivery. */
async function createInbox(options: MemoryInboxOptions = {}) {
  const time = { now: 1_800_000_000_000 }
  const inbox = createMemoryInbox({ observer: quiet, clock: () => time.now, ...options })
  const receiver = createReceiver({ signatureKey: KEY, inbox })
  expect((await deliver(receiver, uniquePayload())).status).toBe(202)
  const [entry] = (await inbox.list()).entries
  return { inbox, time, id: entry?.id ?? '' }
}

describe('workers of a table inbox', () => {
  it('double the delay with each attempt, minus up to half of it, up to maxRetryDelay', async () => {
    const { inbox, time, id } = await createInbox({ retryDelay: 1_000, maxRetryDelay: 6_000, attempts: 6 })
    const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {
      throw new Error('down')
    })
    inbox.work(receiver)
    for (const [attempt, longest] of [1_000, 2_000, 4_000, 6_000, 6_000].entries()) {
      await until(async () => {
        const entry = await inbox.get(id)
        return entry?.state === 'waiting' && entry.attempts === attempt + 1
      })
      const wait = Number((await inbox.get(id))?.dueAt) - time.now
      expect(wait).toBeGreaterThanOrEqual(longest / 2)
      expect(wait).toBeLessThanOrEqual(longest)
      await inbox.retry(id)
    }
    await until(async () => (await inbox.get(id))?.state === 'dead')
    await inbox.close()
  })

  it('randomize delays, so that deliveries that failed together are not retried together', async () => {
    const { inbox } = await createInbox({ retryDelay: 1_000_000, maxRetryDelay: 1_000_000 })
    const sender = createReceiver({ signatureKey: KEY, inbox })
    for (let i = 0; i < 4; i++) await deliver(sender, uniquePayload())
    inbox.work(
      createReceiver({ signatureKey: KEY }).on('*', () => {
        throw new Error('down')
      }),
    )
    const entries = async () => (await inbox.list({ state: 'waiting' })).entries
    await until(async () => (await entries()).filter(({ attempts }) => attempts === 1).length === 5)
    expect(new Set((await entries()).map(({ dueAt }) => Number(dueAt))).size).toBeGreaterThan(1)
    await inbox.close()
  })

  it('do not begin a delivery again while it is in progress in this process, even if its lease has expired', async () => {
    const { inbox, time, id } = await createInbox({ lease: 10_000_000 }) // no heartbeat is due during the test
    const { gate, release } = createGate()
    const attempts: number[] = []
    const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, __, context: HandlerContext) => {
      attempts.push(context.attempt)
      return gate
    })
    inbox.work(receiver)
    await until(() => attempts.length === 1)
    time.now += 20_000_000
    await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload()) // wakes the workers
    await until(() => attempts.length === 2)
    release()
    await until(async () => (await inbox.stats()).done === 2)
    expect(attempts).toEqual([1, 1])
    expect((await inbox.get(id))?.attempts).toBe(1) // no second attempt was counted
    await inbox.close()
  })

  it('run four handlers at a time by default', async () => {
    const { inbox } = await createInbox()
    const sender = createReceiver({ signatureKey: KEY, inbox })
    for (let i = 0; i < 7; i++) await deliver(sender, uniquePayload())
    const { gate, release } = createGate()
    let running = 0
    let max = 0
    const receiver = createReceiver({ signatureKey: KEY }).on('*', async () => {
      max = Math.max(max, ++running)
      await gate
      running--
    })
    inbox.work(receiver)
    await until(() => running >= 4)
    release()
    await until(async () => (await inbox.stats()).done === 8)
    expect(max).toBe(4)
    await inbox.close()
  })

  it('share the deliveries if work() is called twice', async () => {
    const { inbox } = await createInbox()
    const sender = createReceiver({ signatureKey: KEY, inbox })
    const handled: string[] = []
    const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, { id }) => handled.push(id))
    inbox.work(receiver)
    inbox.work(receiver)
    for (let i = 0; i < 20; i++) await deliver(sender, uniquePayload())
    await until(() => handled.length >= 21)
    expect(new Set(handled).size).toBe(21)
    await inbox.close()
  })
})

it('ignores errors of the observer', async () => {
  const fail = () => {
    throw new Error('observer')
  }
  const { inbox, id } = await createInbox({
    observer: { handled: fail, failed: async () => fail(), dead: fail },
  })
  let runs = 0
  inbox.work(
    createReceiver({ signatureKey: KEY }).on('*', () => {
      if (++runs === 1) throw new Error('once')
    }),
  )
  await until(async () => runs === 1 && (await inbox.get(id))?.state === 'waiting')
  await inbox.retry(id)
  await until(async () => (await inbox.get(id))?.state === 'done')
  await inbox.close()
})

it('emits failures as process warnings without an observer', async () => {
  const warnings: string[] = []
  const listen = (warning: Error) => warnings.push(warning.message)
  process.on('warning', listen)
  const inbox = createMemoryInbox({ attempts: 2, retryDelay: 1 })
  await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload())
  inbox.work(
    createReceiver({ signatureKey: KEY }).on('*', () => {
      throw new Error('no database')
    }),
  )
  await until(() => warnings.length > 1)
  process.off('warning', listen)
  expect(warnings).toEqual([
    expect.stringMatching(
      /^Handler failed for delivery [0-9a-f]{32}, attempt 1: Error: no database\. To log /,
    ),
    expect.stringMatching(
      /^Delivery [0-9a-f]{32} is a dead letter after attempt 2: Error: no database\. To see and to retry it, /,
    ),
  ])
  await inbox.close()
})
