import {
  createReceiver,
  type HandlerContext,
  PermanentFailure,
  RetryAfter,
  type StoredDelivery,
} from 'geohook'
import type { DurableInbox, InboxEntry, InboxOptions, WorkOptions } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { deliver, KEY } from '../../helpers/deliver.ts'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox, until, work } from './fixture.ts'

const LATER: InboxOptions = { retryDelay: 600_000, maxRetryDelay: 600_000 }
const SERVICE = 'https://gis.example.com/rest/services/Parcels/FeatureServer'

/** A payload with two events of one service. */
const twoEvents = (number: number): string =>
  JSON.stringify({
    number,
    changesUrl: `${SERVICE}/extractChanges?serverGens=[${number},${number + 1}]`,
    events: [{ eventType: 'FeaturesCreated' }, { eventType: 'FeaturesDeleted' }],
  })

async function sendTwoEvents(inbox: DurableInbox, number = 1): Promise<void> {
  const { status } = await deliver(createReceiver({ signatureKey: KEY, inbox }), twoEvents(number))
  expect(status).toBe(202)
}

/** Runs one attempt with handlers that throw these values, and returns the entry after it. */
async function failWith(inbox: DurableInbox, thrown: readonly unknown[]): Promise<InboxEntry> {
  const { id } = await send(inbox)
  const receiver = createReceiver({ signatureKey: KEY })
  for (const one of thrown)
    receiver.on('*', () => {
      throw one
    })
  const workers = inbox.work(receiver)
  await until(async () => (await inbox.get(id))?.error !== undefined)
  await workers.close()
  return (await inbox.get(id)) as InboxEntry
}

const delayOf = ({ dueAt, errors }: InboxEntry): number =>
  (dueAt?.getTime() ?? NaN) - (errors?.at(-1)?.at?.getTime() ?? NaN)

/** Tests what handlers can say when they fail, what is stored about it, and handlers of whole deliveries. */
export function describeFailing(kind: InboxEngineKind): void {
  describe('failures', () => {
    const it = testInbox(kind)

    it.for<[string, readonly unknown[], string]>([
      ['a permanent failure', [new PermanentFailure('no parcel')], 'dead'],
      ['another object with its code', [{ code: 'permanent_failure', message: 'no parcel' }], 'dead'],
      ['two permanent failures', [new PermanentFailure('one'), new PermanentFailure('two')], 'dead'],
      ['a permanent failure and another one', [new PermanentFailure('one'), new Error('two')], 'waiting'],
      ['an error with a permanent cause', [new Error('x', { cause: new PermanentFailure('y') })], 'waiting'],
      ['an AggregateError without errors', [new AggregateError([])], 'waiting'],
    ])('knows after %s whether further attempts can succeed', async ([, thrown, state], { open }) => {
      const entry = await failWith(open(LATER), thrown)
      expect(entry).toMatchObject({ state, attempts: 1 })
      expect(entry.errors).toHaveLength(1)
    })

    const minute = () => new Date(Date.now() + 60_000)
    it.for<[string, () => readonly unknown[], least: number, most: number]>([
      ['seconds', () => [new RetryAfter(90)], 90_000, 91_000],
      ['a time', () => [new RetryAfter(minute())], 30_000, 61_000],
      ['another object with its code', () => [{ code: 'retry_after', after: 90 }], 90_000, 91_000],
      ['the latest of two', () => [new RetryAfter(5), new RetryAfter(90)], 90_000, 91_000],
      ['one and another failure', () => [new RetryAfter(90), new Error('other')], 90_000, 91_000],
      ['one and a permanent failure', () => [new PermanentFailure('x'), new RetryAfter(9)], 9_000, 10_000],
      ['at most four times the maximum delay', () => [new RetryAfter(1e9)], 2_400_000, 2_401_000],
      [
        'the usual one, if the time is invalid',
        () => [{ code: 'retry_after', after: 'soon' }],
        300_000,
        601_000,
      ],
    ])(
      'begins the next attempt after the delay that a handler asked for: %s',
      async ([, thrown, least, most], { open }) => {
        // The test may take long, but the delay is measured by the clock of the store from the end of the attempt on.
        const entry = await failWith(open(LATER), thrown())
        expect(entry).toMatchObject({ state: 'waiting', attempts: 1 })
        expect(delayOf(entry)).toBeGreaterThanOrEqual(least - 500)
        expect(delayOf(entry)).toBeLessThan(most + 20_000)
      },
    )

    it('begins the next attempt at once if a handler asked for a time in the past', async ({ open }) => {
      const inbox = open(LATER)
      const { id } = await send(inbox)
      work(inbox, (_, __, { attempt }) => {
        if (attempt === 1) throw new RetryAfter(new Date(0))
      })
      await until(async () => (await inbox.get(id))?.state === 'done')
    })

    it('makes a delivery a dead letter after its last attempt, whatever delay was asked for', async ({
      open,
    }) => {
      expect(await failWith(open({ ...LATER, attempts: 1 }), [new RetryAfter(90)])).toMatchObject({
        state: 'dead',
      })
    })

    it('retries each delivery of a group alone after a permanent failure', async ({ open }) => {
      const sizes: number[] = []
      const inbox = open({ retryDelay: 1, maxRetryDelay: 1 })
      for (const number of [1, 2, 3]) await sendTwoEvents(inbox, number)
      const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, { rawBody }, { together }) => {
        const size = together?.deliveries.length ?? 0
        sizes.push(size)
        const isBad = String(Buffer.from(rawBody)).includes('"number":2')
        if (size > 1 || isBad) throw new PermanentFailure('two is bad')
      })
      inbox.work(receiver, { coalesce: { by: 'service', wait: 1_000 } })
      await until(async () => {
        const { done, dead } = await inbox.stats()
        return done + dead === 3
      })
      expect(await inbox.stats()).toMatchObject({ done: 2, dead: 1 })
      expect(sizes.sort()).toEqual([1, 1, 1, 3])
    })

    it('keeps the last ten failed attempts, with their causes', async ({ open }) => {
      const inbox = open({ retryDelay: 1, maxRetryDelay: 1, attempts: 12 })
      const { id } = await send(inbox)
      work(inbox, (_, __, { attempt }) => {
        const cause = Object.assign(new Error('refused'), {
          code: 'ECONNREFUSED',
          address: '10.0.0.1',
          port: 80,
        })
        throw new Error(`attempt ${attempt} ${'x'.repeat(1_500)}`, { cause })
      })
      await until(async () => (await inbox.get(id))?.state === 'dead')
      const [listed] = (await inbox.list()).entries
      const item = await inbox.get(id)
      expect(item?.errors?.map(({ attempt }) => attempt)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
      expect(item?.errors?.every(({ at }) => Math.abs(Date.now() - Number(at)) < 3_600_000)).toBe(true)
      expect(item?.errors?.at(0)?.error).toMatch(/^Error: attempt 3 x{1,500}$/)
      expect(item?.error).toMatch(/^Error: attempt 12 x+ \(ECONNREFUSED 10.0.0.1:80\)$/)
      expect(item?.errors?.at(-1)?.error).toBe(item?.error)
      expect(listed?.errors).toEqual(item?.errors)
    })

    it('says which worker handles a delivery, since when and until when', async ({ open }) => {
      const inbox = open({ lease: 60_000 })
      await sendTwoEvents(inbox)
      const seen: InboxEntry[] = []
      const workers = work(inbox, async () => seen.push(...(await inbox.list()).entries))
      await until(async () => (await inbox.stats()).done === 1)
      await workers.close()
      const [active] = seen
      expect(active).toMatchObject({
        state: 'active',
        service: SERVICE,
        worker: expect.stringMatching(/^[\da-f-]{36}$/),
      })
      expect(Number(active?.leaseEndsAt) - Number(active?.startedAt)).toBeGreaterThanOrEqual(59_000)
      const [done] = (await inbox.list()).entries
      expect(done).toMatchObject({ state: 'done', service: SERVICE, startedAt: active?.startedAt })
      expect([done?.worker, done?.leaseEndsAt]).toEqual([undefined, undefined])
    })

    const modes: [string, WorkOptions | undefined][] = [
      ['alone', undefined],
      ['in a group', { coalesce: { by: 'service', wait: 1 } }],
    ]
    it.for(modes)('gives each attempt a higher fencing token: %s', async ([, options], { open }) => {
      const inbox = open({ retryDelay: 1, maxRetryDelay: 1 })
      await sendTwoEvents(inbox)
      const tokens: (number | undefined)[] = []
      const receiver = createReceiver({ signatureKey: KEY })
        .on('FeaturesCreated', (_, __, { token }) => tokens.push(token))
        .onDelivery((_, { token, attempt }) => {
          tokens.push(token)
          if (attempt < 3) throw new Error('again')
        })
      inbox.work(receiver, options)
      await until(async () => (await inbox.stats()).done === 1)
      const [first = 0, , second = 0, , third = 0] = tokens
      expect(tokens).toEqual([first, first, second, second, third, third])
      // Not always by one: a delivery can be taken while the end of its last attempt is being recorded.
      expect([second > first, third > second]).toEqual([true, true])
    })

    it.for(modes)(
      'calls a handler once for each delivery, whatever its events: %s',
      async ([, options], { open }) => {
        const inbox = open()
        for (const number of [1, 2, 3]) await sendTwoEvents(inbox, number)
        const bodies: string[] = []
        const contexts: HandlerContext[] = []
        const receiver = createReceiver({ signatureKey: KEY }).onDelivery(
          ({ rawBody }: StoredDelivery, context) => {
            bodies.push(Buffer.from(rawBody).toString())
            contexts.push(context)
          },
        )
        inbox.work(receiver, options)
        expect(inbox.handles?.('AnyOther')).toBe(true)
        await until(async () => (await inbox.stats()).done === 3)
        expect(bodies.sort()).toEqual([1, 2, 3].map(twoEvents))
        expect(contexts.map(({ together }) => together)).toEqual([undefined, undefined, undefined])
      },
    )

    if (kind.isShared) {
      it('counts a handler of whole deliveries as one for every change type', async ({ open }) => {
        const [older, newer] = [open(), open()]
        const ran: string[] = []
        older.work(createReceiver({ signatureKey: KEY }).on('FeaturesCreated', () => ran.push('older')))
        newer.work(createReceiver({ signatureKey: KEY }).onDelivery(() => ran.push('newer')))
        const { id } = await send(older, 'Custom')
        await until(async () => (await older.get(id))?.state === 'done')
        expect(ran).toEqual(['newer'])
      })
    }
  })
}
