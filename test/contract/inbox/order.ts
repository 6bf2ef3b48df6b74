import {
  createReceiver,
  type Delivery,
  type HandlerContext,
  PermanentFailure,
  type WebhookEvent,
} from 'geohook'
import type { DurableInbox, OrderOptions, WorkOptions } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import type { InboxEngineKind } from './engine.ts'
import { testInbox, until } from './fixture.ts'

const ROOT = 'https://gis.example.com/rest/services'
const LONG = { retryDelay: 600_000, maxRetryDelay: 600_000 }
const ORDER: OrderOptions = { by: 'service' }
/** Less than the time after which workers look for held deliveries that no end has released. */
const SOON = 8_000
let number = 0

interface Sent {
  service?: string | string[]
  tenant?: string
  changeType?: string
}

/** Stores a delivery. Resolves with its id. */
async function put(
  inbox: DurableInbox,
  { service = 'Parcels', tenant, changeType = 'FeaturesCreated' }: Sent = {},
): Promise<string> {
  let id = ''
  const receiver = createReceiver({
    signatureKey: () => (tenant === undefined ? KEY : { keys: KEY, tenant }),
    inbox,
    observer: {
      accepted({ delivery }) {
        id = delivery.id
      },
      failed() {},
    },
  })
  const payloads = [service].flat().map((name) => ({
    events: [{ eventType: changeType }],
    ...(name !== '' && { changesUrl: `${ROOT}/${name}/FeatureServer/extractChanges?serverGens=[1,2]` }),
    number: number++,
  }))
  expect((await deliver(receiver, JSON.stringify(payloads.length > 1 ? payloads : payloads[0]))).status).toBe(
    202,
  )
  return id
}

type Run = (call: { id: string; event: WebhookEvent; delivery: Delivery; context: HandlerContext }) => unknown

/** Starts workers with an order. Returns the ids of the deliveries whose attempts have begun. */
function work(
  inbox: DurableInbox,
  run: Run = () => {},
  { changeTypes = ['*'], ...options }: WorkOptions & { changeTypes?: string[] } = {},
) {
  const begun: string[] = []
  const receiver = createReceiver({ signatureKey: KEY }).on(changeTypes, (event, delivery, context) => {
    begun.push(delivery.id)
    return run({ id: delivery.id, event, delivery, context })
  })
  return { begun, workers: inbox.work(receiver, { order: ORDER, ...options }) }
}

/** Tests the option `order`. */
export function describeOrder(kind: InboxEngineKind): void {
  describe('order', () => {
    const it = testInbox(kind)
    const isHeld = (inbox: DurableInbox, id: string) =>
      until(async () => (await inbox.get(id))?.held === true)
    const isDone = (inbox: DurableInbox, id: string) =>
      until(async () => (await inbox.get(id))?.state === 'done')
    const fail = () => {
      throw new Error('no service')
    }

    it('makes one attempt at a time for each service, in the order of storing, in all processes', async ({
      open,
    }) => {
      const first = open()
      const inboxes = [first, ...(kind.isShared ? [open(), open()] : [])]
      const services = ['A', 'B', 'C']
      const sent = new Map(services.map((service) => [service, [] as string[]]))
      const attempts = new Map(services.map((service) => [service, [] as string[]]))
      const running = new Map<string, number>()
      const together: number[] = []
      let calls = 0
      for (const inbox of inboxes)
        work(inbox, async ({ id, event, context }) => {
          const service = event.changesUrl?.split('/')[5] ?? ''
          running.set(service, (running.get(service) ?? 0) + 1)
          together.push(running.get(service) as number)
          attempts.get(service)?.push(id)
          await new Promise((resolve) => setTimeout(resolve, 1)) // other attempts could begin meanwhile
          running.set(service, (running.get(service) as number) - 1)
          if (calls++ % 4 === 0 && context.attempt < 3) fail()
        })
      await Promise.all(
        services.map(async (service) => {
          for (let i = 0; i < 15; i++) sent.get(service)?.push(await put(first, { service }))
        }),
      )
      await until(async () => (await first.stats()).done === 45)
      expect(Math.max(...together)).toBe(1)
      for (const service of services) expect([...new Set(attempts.get(service))]).toEqual(sent.get(service))
      // A failed attempt is repeated before the next delivery begins.
      for (const list of attempts.values())
        expect(list.filter((id, index) => list[index - 1] !== id)).toEqual([...new Set(list)])
      expect([...attempts.values()].flat().length).toBeGreaterThan(45)
    })

    it('passes a delivery that has failed for longer than `hold`', async ({ open }) => {
      const inbox = open()
      const { gate, release } = createGate()
      let [failedAt, isRepaired] = [0, false]
      const first = await put(inbox)
      const second = await put(inbox)
      const { begun } = work(
        inbox,
        async ({ id }) => {
          await gate
          failedAt ||= performance.now()
          if (id === first && !isRepaired) fail()
        },
        { order: { by: 'service', hold: 600 } },
      )
      await isHeld(inbox, second)
      const held = await inbox.get(second)
      expect(held).toMatchObject({ state: 'waiting', attempts: 0 })
      expect(held).not.toHaveProperty('dueAt')
      expect(await inbox.stats()).toMatchObject({ waiting: 1, active: 1 })
      expect((await inbox.list({ state: 'waiting' })).entries).toMatchObject([{ id: second, held: true }])
      expect((await inbox.list()).entries.map(({ id }) => id)).toEqual([first, second])
      release()
      await until(async () => (await inbox.get(second))?.state === 'done', SOON)
      expect(performance.now() - failedAt).toBeGreaterThan(590)
      expect(begun.slice(0, 2)).toEqual([first, first])
      await until(async () => {
        const { state, passed } = (await inbox.get(first)) ?? {}
        return state === 'waiting' && passed === true
      })
      isRepaired = true
      await isDone(inbox, first)
      expect(await inbox.get(first)).not.toHaveProperty('passed')
    })

    it.for(['dead', 'discarded', 'unhandled'])(
      'releases the next delivery when one is %s',
      async (end, { open }) => {
        const inbox = open({ ...LONG, attempts: end === 'dead' ? 1 : 9 })
        const changeType = end === 'unhandled' ? 'FeaturesDeleted' : 'FeaturesCreated'
        const ids = [await put(inbox, { changeType }), await put(inbox), await put(inbox)]
        const [first = '', second = ''] = ids
        const run: Run = ({ id }) => id === first && fail()
        const { begun } = work(inbox, run, { changeTypes: ['FeaturesCreated'] })
        if (end === 'discarded') {
          await isHeld(inbox, second)
          expect(await inbox.retry(second)).toBe(true)
          await isHeld(inbox, second)
          await until(async () => (await inbox.get(first))?.state === 'waiting')
          expect(await inbox.discard(first)).toBe(true)
        }
        await until(async () => (await inbox.stats()).done === 2, SOON)
        expect(begun).toEqual(end === 'unhandled' ? ids.slice(1) : ids)
      },
    )

    it('holds no delivery of another tenant, of another service, of several, of an unknown one, or of one with a long URL', async ({
      open,
    }) => {
      const inbox = open(LONG)
      const first = await put(inbox, { tenant: 'a' })
      const long = { service: 'x'.repeat(2_000) }
      const { begun } = work(
        inbox,
        ({ id, event }) => (id === first || event.changesUrl?.includes(long.service)) && fail(),
      )
      await until(() => begun.length === 1)
      const second = await put(inbox, { tenant: 'a' })
      const others: Sent[] = [
        { tenant: 'b' },
        {},
        { tenant: 'a', service: 'Streets' },
        { tenant: 'a', service: ['Parcels', 'Streets'] },
        { tenant: 'a', service: '' },
      ]
      for (const other of others) await isDone(inbox, await put(inbox, other))
      await isHeld(inbox, second)
      const failing = [await put(inbox, long), await put(inbox, long)]
      await until(() => failing.every((id) => begun.includes(id)))
      expect(begun).not.toContain(second)
    })

    it('keeps an order for each name of handlers', async ({ open }) => {
      const inbox = open(LONG)
      const [first, second] = [await put(inbox), await put(inbox)]
      const begun: string[] = []
      const receiver = createReceiver({ signatureKey: KEY })
        .on('*', fail, { name: 'erp' })
        .on('*', (_, { id }) => void begun.push(id), { name: 'log' })
      inbox.work(receiver, { order: ORDER })
      await until(async () => (await inbox.stats()).done === 2)
      expect(begun).toEqual([first, second])
      await until(async () => (await inbox.get(second))?.fates.some(({ held }) => held) ?? false)
      expect((await inbox.get(second))?.fates).toMatchObject([
        { handler: 'erp', held: true, attempts: 0 },
        { handler: 'log', state: 'done' },
      ])
    })

    it('keeps the order of deliveries that were held before a worker had a name', async ({ open }) => {
      const inbox = open(LONG)
      const ids = [await put(inbox), await put(inbox), await put(inbox)]
      const { workers } = work(inbox, fail)
      for (const id of ids.slice(1)) await isHeld(inbox, id)
      await until(async () => (await inbox.get(ids[0] ?? ''))?.state === 'waiting')
      await workers.close()
      const begun: string[] = []
      const receiver = createReceiver({ signatureKey: KEY })
      receiver.on('*', (_, { id }) => void begun.push(id), { name: 'log' })
      inbox.work(receiver, { order: ORDER })
      ids.push(await put(inbox))
      expect(await inbox.retry(ids[0] ?? '')).toBe(true)
      await until(async () => (await inbox.stats()).done === 4, SOON)
      expect(begun).toEqual(ids)
    })

    it('lets a retried delivery go first when a later one fails', async ({ open }) => {
      const inbox = open()
      const { gate, release } = createGate()
      const [first, second] = [await put(inbox), await put(inbox)]
      const { begun } = work(inbox, async ({ id }) => {
        if (begun.length === 1) throw new PermanentFailure('not yet')
        if (id === second && begun.length === 2) await gate.then(fail)
      })
      await until(() => begun.length === 2)
      expect(await inbox.retry(first)).toBe(true)
      await isHeld(inbox, first)
      release()
      await isDone(inbox, second)
      expect(begun).toEqual([first, second, first, second])
    })

    it('keeps the order of unhandled deliveries once a worker handles them', async ({ open }) => {
      const inbox = open()
      const workers = inbox.work(createReceiver({ signatureKey: KEY }).on('Other', () => {}))
      const ids = [await put(inbox), await put(inbox), await put(inbox)]
      await until(async () => (await inbox.stats()).unhandled === 3)
      let [running, most] = [0, 0]
      const { begun } = work(inbox, async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 1)) // other attempts could begin meanwhile
        running--
      })
      await until(async () => (await inbox.stats()).done === 3)
      expect([begun, most]).toEqual([ids, 1])
      await workers.close()
    })

    it('leaves no delivery held when workers without an order continue', async ({ open }) => {
      const inbox = open(LONG)
      const [first, second, third] = [await put(inbox), await put(inbox), await put(inbox)]
      const { begun, workers } = work(inbox, fail)
      await isHeld(inbox, third)
      await until(async () => (await inbox.get(first))?.state === 'waiting')
      await workers.close()
      const other = kind.isShared ? open() : inbox
      other.work(createReceiver({ signatureKey: KEY }).on('*', (_, { id }) => void begun.push(id)))
      expect(await inbox.retry(first)).toBe(true)
      await until(async () => (await inbox.stats()).done === 3)
      expect(begun.toSorted()).toEqual([first, first, second, third].toSorted())
    })
  })
}
