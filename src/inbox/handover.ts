import { subscriptionsOf } from '../payload/events.ts'
import { receiverPort } from '../receiver/port.ts'
import type { DeliveryHandler } from './durable-inbox.ts'
import type { Announcement, DeliveriesTable, TakenDelivery, UnhandledQuery } from './engine-port.ts'

/** Milliseconds between two announcements of a worker, and between two scans for unhandled deliveries. */
const [ANNOUNCE_INTERVAL, SCAN_INTERVAL] = [10_000, 1_000]

/** Milliseconds before the previous scan in which a scan begins, because transactions can be committed late. */
const OVERLAP = 10_000

/** Maximum number of deliveries read at once. */
const PAGE_SIZE = 500

/** Maximum number of deliveries that a worker remembers not to have handled. */
const MAX_DECLINED = 10_000

type HandledTypes = Announcement['changeTypes']

/** Returns true if a worker that handles these change types, as passed to `on`, handles this one too. */
export const handlesType = (handled: HandledTypes, changeType: string): boolean =>
  handled === undefined || subscriptionsOf(changeType).some((name) => handled.includes(name))

/** Returns true if `other` handles all of the change types that `own` handles, and at least one more of them. */
const handlesMore = (other: HandledTypes, own: HandledTypes, changeTypes: readonly string[]): boolean =>
  changeTypes.every((type) => handlesType(other, type) || !handlesType(own, type)) &&
  changeTypes.some((type) => handlesType(other, type) && !handlesType(own, type))

/**
 * How workers with different handlers share an inbox, for example two versions of an app. Workers announce what they
 * handle. A worker ends a delivery as unhandled if it has no handler for it, or if another worker handles more of its
 * change types. Workers look for unhandled deliveries that they handle, and take them.
 */
export interface Handover {
  /** Announces what the worker handles, if that has changed or the last announcement is old. */
  announce(): Promise<void>
  /** Returns, for the change types of each delivery, whether another worker has handlers for more of them. */
  areOthers(deliveries: readonly (readonly string[])[]): Promise<boolean[]>
  /** Takes unhandled deliveries that this worker handles. Returns none if the last scan was a short time ago. */
  take(room: { limit: number; maxBytes: number }): Promise<TakenDelivery[]>
  /** True if a scan has not ended, because there are many unhandled deliveries. */
  isScanning(): boolean
  /** Keeps this worker from taking a delivery again for which its receiver had no handler. */
  decline(seq: number): void
  /** Announces the end of the worker. */
  close(): Promise<void>
}

interface HandoverOptions {
  table: DeliveriesTable
  receiver: DeliveryHandler
  owner: string
  lease: number
  clock: () => number
}

export function createHandover({ table, receiver, owner, lease, clock }: HandoverOptions): Handover {
  const declined = new Set<number>()
  let own: HandledTypes
  let announced: string | undefined
  let announceAt = -Infinity
  let others: readonly Announcement[] = []
  let known = ''
  let scan: { startedAt: Times; query: UnhandledQuery } | undefined
  let previous: Times | undefined
  let scanAt = -Infinity

  /** The time on two clocks: a monotonic one stands still while the machine sleeps, and the other can be set back. */
  type Times = { monotonic: number; clock: number }
  const readTimes = (): Times => ({ monotonic: performance.now(), clock: clock() })

  async function readOthers(): Promise<void> {
    const workers = await table.workers()
    others = workers.filter(({ id }) => id !== owner)
    const kinds = new Set(workers.map(({ changeTypes }) => JSON.stringify(changeTypes)))
    const all = [...kinds].sort().join()
    if (all === known) return
    // What another worker would have taken may now be for this one: scan all unhandled deliveries.
    known = all
    scan = undefined
    previous = undefined
    scanAt = -Infinity
  }

  const isOthers = (changeTypes: readonly string[]): boolean =>
    others.some((other) => handlesMore(other.changeTypes, own, changeTypes))

  function startScan(): { startedAt: Times; query: UnhandledQuery } {
    const now = readTimes()
    const elapsed = previous && Math.max(now.monotonic - previous.monotonic, now.clock - previous.clock)
    const within = elapsed === undefined ? undefined : elapsed + OVERLAP
    return { startedAt: now, query: { within, after: undefined, limit: PAGE_SIZE } }
  }

  return {
    async announce() {
      const changeTypes = receiverPort(receiver)?.changeTypes()
      const text = JSON.stringify([changeTypes])
      if (text === announced && performance.now() < announceAt) return
      await table.announce({ id: owner, changeTypes })
      if (text !== announced) declined.clear()
      own = changeTypes
      announced = text
      announceAt = performance.now() + ANNOUNCE_INTERVAL
      await readOthers()
    },

    async areOthers(deliveries) {
      const isWhole = (types: readonly string[]): boolean => types.every((type) => handlesType(own, type))
      if (deliveries.every(isWhole)) return deliveries.map(() => false)
      await readOthers()
      return deliveries.map(isOthers)
    },

    async take({ limit, maxBytes }) {
      if (performance.now() < scanAt) return []
      scan ??= startScan()
      const current = scan
      const page = await table.unhandled(current.query)
      const seqs: number[] = []
      let [bytes, after] = [0, current.query.after]
      for (const entry of page) {
        const { seq, size, changeTypes } = entry
        const isOwn = changeTypes.some((type) => handlesType(own, type)) && !isOthers(changeTypes)
        if (isOwn && !declined.has(seq)) {
          bytes += size
          if (seqs.length === limit || (seqs.length > 0 && bytes > maxBytes)) break
          seqs.push(seq)
        }
        after = entry
      }
      const { taken } =
        seqs.length > 0 ? await table.take({ owner, lease, limit, maxBytes, seqs }) : { taken: [] }
      current.query = { ...current.query, after }
      if (page.length < PAGE_SIZE && after?.seq === page.at(-1)?.seq && scan === current) {
        previous = current.startedAt
        scan = undefined
        scanAt = performance.now() + SCAN_INTERVAL
      }
      return taken
    },

    isScanning: () => scan !== undefined,

    decline(seq) {
      declined.add(seq)
      const [oldest] = declined
      if (declined.size > MAX_DECLINED && oldest !== undefined) declined.delete(oldest)
    },

    async close() {
      if (announced !== undefined) await table.withdraw(owner).catch(() => {}) // it expires without this, too
    },
  }
}
