import { createReceiver } from 'geohook'
import { createMemoryInbox, type DurableInbox } from 'geohook/inbox'
import { expect, it, onTestFinished } from 'vitest'
import type { DeliveriesTable } from '../../src/inbox/engine-port.ts'
import { readInboxOptions } from '../../src/inbox/inbox-options.ts'
import { createMemoryTable } from '../../src/inbox/memory/table.ts'
import { createTableInbox } from '../../src/inbox/table-inbox.ts'
import { until } from '../contract/inbox/fixture.ts'
import { KEY } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { editOf } from './deliveries.ts'

const OBSERVER = { failed() {}, dead() {}, trouble() {} }

/** Starts workers that coalesce. Returns the numbers of deliveries of each call. */
function work(inbox: DurableInbox, wait: number, handler: () => unknown = () => {}): number[] {
  onTestFinished(() => inbox.close())
  const sizes: number[] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, __, { together }) => {
    sizes.push(together?.deliveries.length ?? 0)
    return handler()
  })
  inbox.work(receiver, { coalesce: { by: 'service', wait } })
  return sizes
}

async function putAll(inbox: DurableInbox, count: number, size?: number): Promise<string[]> {
  const deliveries = Array.from({ length: count }, () => editOf('Parcels', size))
  await Promise.all(deliveries.map((delivery) => inbox.put(delivery)))
  return deliveries.map(({ id }) => id)
}

it('begins a call as soon as its group has 1,000 deliveries', async () => {
  const inbox = createMemoryInbox()
  const sizes = work(inbox, 60_000)
  await putAll(inbox, 1_001)
  await until(async () => (await inbox.stats()).done === 1_000)
  expect(sizes).toEqual([1_000])
})

it('begins a call as soon as its group has 16 MiB of bodies', async () => {
  const inbox = createMemoryInbox()
  const sizes = work(inbox, 60_000)
  await putAll(inbox, 5, 4 * 1024 ** 2)
  await until(async () => (await inbox.stats()).done > 0)
  expect(sizes).toEqual([3])
})

it('takes at most 2,000 deliveries of a slow service, and handles all of them in the end', async () => {
  const { gate, release } = createGate()
  const inbox = createMemoryInbox()
  const sizes = work(inbox, 1, () => gate)
  await putAll(inbox, 3_500)
  await until(async () => (await inbox.stats()).active >= 2_000)
  expect((await inbox.stats()).active).toBe(2_000)
  release()
  await until(async () => (await inbox.stats()).done === 3_500)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000)
})

it('handles other services while several retries of a service wait for each other', async () => {
  const inbox = createMemoryInbox({ retryDelay: 1, observer: OBSERVER })
  onTestFinished(() => inbox.close())
  const { gate, release } = createGate()
  onTestFinished(release)
  const attempts: [service: string | undefined, attempt: number][] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', (event, _, { attempt }) => {
    const service = event.changesUrl?.split('/').at(-3)
    attempts.push([service, attempt])
    if (service === 'Parcels' && attempt === 1) throw new Error('down')
    return service === 'Parcels' && gate
  })
  inbox.work(receiver, { concurrency: 2, coalesce: { by: 'service', wait: 100 } })
  await putAll(inbox, 3)
  await until(async () => attempts.some(([, attempt]) => attempt === 2))
  await until(async () => (await inbox.stats()).active > 1)
  await inbox.put(editOf('Trees'))
  await until(async () => attempts.some(([service]) => service === 'Trees'))
  release()
  await until(async () => (await inbox.stats()).done === 4)
})

/** Opens an inbox whose table loses leases: `lost` has the ids of deliveries that another process has taken. */
function openWithLostLeases(lost: Set<string>, handled: string[], failed: string[]) {
  const ends: string[][] = []
  const ids = new Map<number, string>()
  const idOf = (seq: number): string => ids.get(seq) ?? ''
  const table = createMemoryTable(Date.now)
  const losing: DeliveriesTable = {
    ...table,
    async take(request) {
      const result = await table.take(request)
      for (const { seq, delivery } of result.taken) ids.set(seq, delivery.id)
      return result
    },
    renew: async (owner, held, lease) =>
      (await table.renew(owner, held, lease)).map(
        (isHeld, index) => isHeld && !lost.has(idOf(held[index]?.seq ?? 0)),
      ),
    async endAttempts(owner, list) {
      ends.push(list.map(({ seq }) => idOf(seq)))
      return table.endAttempts(owner, list)
    },
  }
  const observer = {
    ...OBSERVER,
    handled: ({ delivery }: { delivery: { id: string } }) => handled.push(delivery.id),
    failed: ({ delivery, error }: { delivery: { id: string }; error: unknown }) =>
      failed.push(`${delivery.id} ${error}`),
  }
  const config = readInboxOptions({ lease: 1_000, observer })
  return { ends, inbox: createTableInbox(losing, config, Date.now) }
}

const LOST = 'Error: another process has taken the delivery over'

it('removes a delivery from a gathering group when another process has taken it', async () => {
  const [lost, handled, failed] = [new Set<string>(), [] as string[], [] as string[]]
  const { inbox } = openWithLostLeases(lost, handled, failed)
  const sizes = work(inbox, 3_000)
  const [id = '', ...others] = await putAll(inbox, 3)
  await until(async () => (await inbox.stats()).active === 3)
  lost.add(id)
  await until(() => failed.length === 1)
  lost.clear()
  // These workers take the delivery again when its lease has expired, as another process would.
  await until(() => handled.length === 3)
  expect([sizes, failed, handled]).toEqual([[1, 2], [`${id} ${LOST}`], [id, ...others]])
})

it('finishes a running call when another process has taken one of its deliveries, and records only the others', async () => {
  const [lost, handled, failed] = [new Set<string>(), [] as string[], [] as string[]]
  const { gate, release } = createGate()
  const { inbox, ends } = openWithLostLeases(lost, handled, failed)
  const sizes = work(inbox, 100, () => gate)
  const [id = '', ...others] = await putAll(inbox, 3)
  await until(() => sizes.length === 1)
  lost.add(id)
  await new Promise((resolve) => setTimeout(resolve, 700)) // two heartbeats
  release()
  await until(() => failed.length === 1)
  expect([sizes, handled, failed, ends]).toEqual([[3], others, [`${id} ${LOST}`], [others]])
})

it('aborts a running call when other processes have taken all of its deliveries', async () => {
  const [lost, handled, failed] = [new Set<string>(), [] as string[], [] as string[]]
  const { inbox, ends } = openWithLostLeases(lost, handled, failed)
  const sizes = work(inbox, 100, () => (sizes.length === 1 ? new Promise(() => {}) : undefined))
  const ids = await putAll(inbox, 3)
  await until(() => sizes.length === 1)
  for (const id of ids) lost.add(id)
  await until(() => failed.length === 3)
  lost.clear()
  expect([failed, ends]).toEqual([ids.map((id) => `${id} ${LOST}`), []])
})
