import { createReceiver, type HandlerContext } from 'geohook'
import { createMemoryInbox, type MemoryInboxOptions } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { uniquePayload, until } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'

const quiet = { failed() {}, dead() {}, trouble() {} }

/** An inbox on a clock that is set by hand, with one delivery in it. */
async function createInbox(options: MemoryInboxOptions = {}) {
  const time = { now: 1_800_000_000_000 }
  const inbox = createMemoryInbox({ observer: quiet, clock: () => time.now, ...options })
  const receiver = createReceiver({ signatureKey: KEY, inbox })
  expect((await deliver(receiver, uniquePayload())).status).toBe(202)
  const [entry] = (await inbox.list()).entries
  return { inbox, time, id: entry?.id ?? '' }
}

describe('the workers of an inbox of our own', () => {
  it('wait twice as long each time, by chance up to a half shorter, and never longer than the longest', async () => {
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

  it('wait for a time of its own each, so that what failed together does not come again together', async () => {
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

  it('do not begin again what is still at work here when its lease has run out', async () => {
    const { inbox, time, id } = await createInbox({ lease: 10_000_000 }) // so that no heartbeat comes between
    const { gate, release } = createGate()
    const attempts: number[] = []
    const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, __, context: HandlerContext) => {
      attempts.push(context.attempt)
      return gate
    })
    inbox.work(receiver)
    await until(() => attempts.length === 1)
    time.now += 20_000_000
    await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload()) // which makes it look for what is due
    await until(() => attempts.length === 2)
    release()
    await until(async () => (await inbox.stats()).done === 2)
    expect(attempts).toEqual([1, 1])
    expect((await inbox.get(id))?.attempts).toBe(1) // and no attempt of it was spent
    await inbox.close()
  })

  it('share the deliveries where there are several', async () => {
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

it('an observer that fails changes nothing', async () => {
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

it('without an observer, failures become process warnings', async () => {
  const warnings: string[] = []
  const listen = (warning: Error) => warnings.push(warning.message)
  process.on('warning', listen)
  const inbox = createMemoryInbox({ attempts: 1 })
  await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload())
  inbox.work(
    createReceiver({ signatureKey: KEY }).on('*', () => {
      throw new Error('no database')
    }),
  )
  await until(() => warnings.length > 0)
  process.off('warning', listen)
  expect(warnings).toEqual(['Handler failed: Error: no database.'])
  await inbox.close()
})
