import { createReceiver, type Delivery, type HandlerContext, type Receiver, type WebhookEvent } from 'geohook'
import type { DurableInbox } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import type { InboxEngineKind } from './engine.ts'
import { testInbox, until } from './fixture.ts'

const ROOT = 'https://gis.example.com/rest/services'
let generation = 1_000

/** Creates a payload of a feature service. The windows of the payloads follow one another. */
function edit(changeTypes = ['FeaturesCreated'], serviceName = 'Parcels'): string {
  const window = `[${generation},${++generation}]`
  return JSON.stringify({
    serviceName,
    changesUrl: `${ROOT}/${serviceName}/FeatureServer/extractChanges?serverGens=${encodeURIComponent(window)}`,
    events: changeTypes.map((eventType) => ({ eventType, when: 1730385704000 })),
  })
}

async function sendAll(inbox: DurableInbox, bodies: readonly string[]): Promise<void> {
  const receiver = createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } })
  const responses = await Promise.all(bodies.map((body) => deliver(receiver, body)))
  expect(responses.filter(({ status }) => status !== 202)).toEqual([])
}

const times = <T>(count: number, create: () => T): T[] => Array.from({ length: count }, () => create())
const parametersOf = ({ changesUrl = '' }: WebhookEvent) => new URL(changesUrl).searchParams
const windowOf = (event: WebhookEvent): number[] => JSON.parse(parametersOf(event).get('serverGens') ?? '[]')

/** Tests the option `coalesce`. */
export function describeCoalescing(kind: InboxEngineKind): void {
  describe('coalescing', () => {
    const it = testInbox(kind)

    interface Call {
      event: WebhookEvent
      delivery: Delivery
      context: HandlerContext
      /** Number of joined deliveries. */
      size: number
    }

    /** Starts workers. Returns the calls of their handler. */
    function coalesce(
      inbox: DurableInbox,
      wait: number,
      handler: (call: Call) => unknown = () => {},
      changeTypes: string | string[] = '*',
    ) {
      const calls: Call[] = []
      const receiver: Receiver = createReceiver({ signatureKey: KEY }).on(
        changeTypes,
        (event, delivery, context) => {
          const call = { event, delivery, context, size: context.together?.deliveries.length ?? 0 }
          calls.push(call)
          return handler(call)
        },
      )
      return { calls, workers: inbox.work(receiver, { coalesce: { by: 'service', wait } }) }
    }

    const isDone = (inbox: DurableInbox, count: number) =>
      until(async () => (await inbox.stats()).done === count)
    const isActive = (inbox: DurableInbox, count: number) =>
      until(async () => (await inbox.stats()).active === count)

    /**
     * Handles one delivery of each service, and sends the bodies during these calls, so that each service needs one more
     * call for them, however long it takes to store them. The first calls end only when a delivery of the service `Last`
     * is handled, which is sent when all are active. Returns the calls made after that.
     */
    async function sendTogether(
      inbox: DurableInbox,
      bodies: readonly string[],
      handler: (call: Call) => unknown = () => {},
      { changeTypes = '*', services = ['Parcels'] } = {},
    ): Promise<readonly Call[]> {
      const { gate, release } = createGate()
      let hasJoined = false
      const { calls } = coalesce(
        inbox,
        1,
        (call) => {
          if (hasJoined) return handler(call)
          if (call.event.service.serviceName !== 'Last') return gate
          hasJoined = true
          calls.length = 0
          release()
        },
        changeTypes,
      )
      const first = services.map((service) => edit(['FeaturesCreated'], service))
      await sendAll(inbox, first)
      await until(() => calls.length === first.length)
      for (const body of bodies) await sendAll(inbox, [body]) // in this order
      await isActive(inbox, first.length + bodies.length)
      await sendAll(inbox, [edit(['FeaturesCreated'], 'Last')])
      await until(() => hasJoined)
      return calls
    }

    it('never handles deliveries of two tenants together', async ({ open }) => {
      const inbox = open()
      const { calls } = coalesce(inbox, 1_000)
      const body = edit()
      for (const tenant of ['a', 'b', undefined]) {
        const signatureKey = () => (tenant === undefined ? KEY : { keys: KEY, tenant })
        const receiver = createReceiver({ signatureKey, inbox })
        for (const one of [body, edit()]) expect((await deliver(receiver, one)).status).toBe(202)
      }
      await isDone(inbox, 6)
      const attempts = new Map<unknown, Set<string | undefined>>()
      for (const { context, delivery } of calls) // each attempt has an onSuccess of its own
        attempts.set(context.onSuccess, (attempts.get(context.onSuccess) ?? new Set()).add(delivery.tenant))
      expect([...attempts.values()].map(({ size }) => size)).toEqual([...attempts].map(() => 1))
      expect(new Set(calls.map(({ delivery }) => delivery.tenant))).toEqual(new Set(['a', 'b', undefined]))
    })

    it('handles 50 deliveries of a service in one call, whose window covers all of them', async ({
      open,
    }) => {
      const ended: string[] = []
      const inbox = open({ observer: { handled: ({ delivery }) => ended.push(delivery.id) } })
      const min = generation
      const calls = await sendTogether(inbox, times(50, edit))
      await until(() => ended.length === 52)
      expect(calls.map(({ size }) => size)).toEqual([50])
      const [{ event, context }] = calls as [Call]
      expect(windowOf(event)).toEqual([min, min + 50])
      expect(context.together?.events.map(({ changeType }) => changeType)).toEqual(
        times(50, () => 'FeaturesCreated'),
      )
      expect(new Set(ended).size).toBe(52)
      expect(await inbox.stats()).toMatchObject({ waiting: 0, active: 0, done: 52, dead: 0 })
    })

    it('records all deliveries of a failed call as failed, and retries each of them alone', async ({
      open,
    }) => {
      const failed: unknown[] = []
      const observer = { failed: ({ error }: { error: unknown }) => failed.push(error) }
      const inbox = open({ retryDelay: 600_000, maxRetryDelay: 600_000, observer })
      const error = new Error('no service')
      const calls = await sendTogether(inbox, times(8, edit), ({ size }) => {
        if (size > 1) throw error
      })
      await until(() => failed.length === 8)
      expect(failed).toEqual(times(8, () => error))
      const { entries } = await inbox.list({ state: 'waiting' })
      expect(entries.map(({ attempts }) => attempts)).toEqual(times(8, () => 1))
      for (const { id } of entries) expect(await inbox.retry(id)).toBe(true)
      await isDone(inbox, 10)
      expect(calls.map(({ size, context }) => [size, context.attempt])).toEqual([
        [8, 1],
        ...times(8, () => [1, 2]),
      ])
    })

    it('moves only the delivery that always fails to the dead letters', async ({ open }) => {
      const inbox = open({ attempts: 3 })
      const bodies = times(6, edit)
      const poison = bodies[3]
      coalesce(inbox, 2_000, ({ context }) => {
        const texts = context.together?.deliveries.map(({ rawBody }) => new TextDecoder().decode(rawBody))
        if (texts?.includes(poison ?? '')) throw new Error('poison')
      })
      await sendAll(inbox, bodies)
      await isDone(inbox, 5)
      await until(async () => (await inbox.stats()).dead === 1)
      const [entry] = (await inbox.list({ state: 'dead' })).entries
      expect(new TextDecoder().decode((await inbox.get(entry?.id ?? ''))?.delivery.rawBody)).toBe(poison)
    })

    it('handles the groups of two services at the same time', async ({ open }) => {
      const { gate, release } = createGate()
      const inbox = open()
      let begun = 0
      const bodies = [...times(5, edit), ...times(3, () => edit(['FeaturesCreated'], 'Roads'))]
      const bothBegin = () => {
        if (++begun === 2) release()
        return gate
      }
      const calls = await sendTogether(inbox, bodies, bothBegin, { services: ['Parcels', 'Roads'] })
      await isDone(inbox, 11)
      expect(calls.map(({ size }) => size).sort()).toEqual([3, 5])
    })

    it('handles the deliveries that arrive during a call in one following call', async ({ open }) => {
      const { gate, release } = createGate()
      const inbox = open()
      const { calls } = coalesce(inbox, 1_000, () => gate)
      await sendAll(inbox, [edit()])
      await until(() => calls.length === 1)
      await sendAll(inbox, times(10, edit))
      await isActive(inbox, 11)
      expect(calls.length).toBe(1)
      release()
      await isDone(inbox, 11)
      expect(calls.map(({ size }) => size)).toEqual([1, 10])
    })

    it('calls a handler of several change types once', async ({ open }) => {
      const inbox = open()
      const min = generation
      const bodies = [
        edit(['FeaturesCreated', 'FeaturesUpdated']),
        edit(['FeaturesDeleted']),
        edit(['FeaturesEdited', 'AttachmentsCreated']),
      ]
      const calls = await sendTogether(inbox, bodies, () => {}, { changeTypes: 'FeaturesEdited' })
      await isDone(inbox, 5)
      expect(calls.length).toBe(1)
      expect(windowOf((calls[0] as Call).event)).toEqual([min, min + 3])
      expect(calls[0]?.context.together?.events.length).toBe(4)
    })

    it('asks for attachments if one of the events is about attachments', async ({ open }) => {
      const inbox = open()
      const calls = await sendTogether(inbox, [edit(['AttachmentsCreated']), edit(['FeaturesUpdated'])])
      await isDone(inbox, 4)
      expect(calls.map(({ size }) => size)).toEqual([2])
      expect(parametersOf((calls[0] as Call).event).get('returnattachments')).toBe('true')
    })

    it('handles deliveries without a changesUrl and undecodable ones alone', async ({ open }) => {
      const inbox = open({ attempts: 1 })
      const { calls } = coalesce(inbox, 2_000)
      await sendAll(
        inbox,
        times(3, () => edit().replace('changesUrl', `other${generation}`)),
      )
      await inbox.put({ ...(await inboxDelivery()), rawBody: new TextEncoder().encode('{') })
      await isDone(inbox, 3)
      await until(async () => (await inbox.stats()).dead === 1)
      expect(calls.map(({ size, event }) => [size, event.changesUrl])).toEqual(times(3, () => [1, undefined]))
    })

    it('runs the functions passed to onSuccess once for a group, before its deliveries are done', async ({
      open,
    }) => {
      const inbox = open()
      const states: unknown[] = []
      const calls = await sendTogether(inbox, times(4, edit), ({ context }) =>
        context.onSuccess(async () => {
          for (const { id } of context.together?.deliveries ?? []) states.push((await inbox.get(id))?.state)
        }),
      )
      await isDone(inbox, 6)
      expect([calls.length, states]).toEqual([1, times(4, () => 'active')])
    })

    it('handles a gathering group at once when its workers are closed', async ({ open }) => {
      const inbox = open()
      const { calls, workers } = coalesce(inbox, 60_000)
      await sendAll(inbox, times(5, edit))
      await isActive(inbox, 5)
      expect(calls).toEqual([])
      await workers.close()
      // A delivery that is active may not have joined the group yet, and then gets a call of its own.
      expect(calls.reduce((sum, { size }) => sum + size, 0)).toBe(5)
      expect(await inbox.stats()).toMatchObject({ waiting: 0, active: 0, done: 5 })
    })

    it('fails the whole group at the timeout of the attempt', async ({ open }) => {
      const failed: unknown[] = []
      const observer = { failed: ({ error }: { error: unknown }) => failed.push(String(error)) }
      const inbox = open({ timeout: 300, observer })
      coalesce(inbox, 2_000, ({ context }) => (context.attempt === 1 ? new Promise(() => {}) : undefined))
      await sendAll(inbox, times(3, edit))
      await isDone(inbox, 3)
      expect(failed).toEqual(times(3, () => 'TimeoutError: the handlers took more than 300 ms'))
    })
  })
}

/** Creates a delivery with a unique id. */
async function inboxDelivery(): Promise<Delivery> {
  return new Promise((resolve) => {
    const inbox = { put: async (delivery: Delivery) => resolve(delivery) }
    void deliver(createReceiver({ signatureKey: KEY, inbox }), edit())
  })
}
