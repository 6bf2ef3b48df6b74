import { subscriptionsOf } from '../payload/events.ts'
import { receiverPort } from '../receiver/port.ts'
import type { DeliveryHandler } from './durable-inbox.ts'
import type {
  Announcement,
  DeliveriesTable,
  TakenDelivery,
  TakeRequest,
  UnhandledEntry,
} from './engine-port.ts'

/** Milliseconds between two announcements of a worker, and between two scans for unhandled deliveries. */
const [ANNOUNCE_INTERVAL, SCAN_INTERVAL] = [10_000, 1_000]

/** Milliseconds by which a scan overlaps the previous one, because transactions are committed later than they begin. */
const OVERLAP = 2_000

/** Milliseconds between two scans of all unhandled deliveries, for those that became unhandled while a clock was set. */
const RESCAN_INTERVAL = 600_000

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
  take(room: Room): Promise<TakenDelivery[]>
  /** True if a scan has not ended, because there are many unhandled deliveries. */
  isScanning(): boolean
  /** Keeps this worker from taking a delivery again for which its receiver had no handler. */
  decline(seq: number): void
  /** Announces the end of the worker. */
  close(): Promise<void>
}

type Room = Pick<TakeRequest, 'limit' | 'maxBytes'>

/** The time on two clocks: a monotonic one stands still while the machine sleeps, and the other can be set back. */
interface Times {
  monotonic: number
  clock: number
}

/** A pass through the unhandled deliveries. */
interface Scan {
  startedAt: Times
  /** Only deliveries that became unhandled within these milliseconds. Undefined for all. */
  within: number | undefined
  /** What is left of the last page that was read. */
  page: UnhandledEntry[]
  /** The last entry of that page. */
  after: UnhandledEntry | undefined
  /** True if that page is the last one. */
  isLast: boolean
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
  let scan: Scan | undefined
  let previous: Times | undefined
  let scanAt = -Infinity
  let rescanAt = -Infinity
  let reading: Promise<void> | undefined

  const readTimes = (): Times => ({ monotonic: performance.now(), clock: clock() })

  async function readOthers(): Promise<void> {
    const workers = await table.workers()
    others = workers.filter(({ id }) => id !== owner)
    const kinds = new Set(workers.map(({ changeTypes }) => JSON.stringify(changeTypes)))
    const all = [...kinds].sort().join()
    if (all === known) return
    // What another worker would have taken may now be for this one.
    known = all
    scanAll()
  }

  function scanAll(): void {
    scan = undefined
    previous = undefined
    scanAt = -Infinity
  }

  const isOthers = (changeTypes: readonly string[]): boolean =>
    others.some((other) => handlesMore(other.changeTypes, own, changeTypes))

  function startScan(): Scan {
    const now = readTimes()
    if (now.monotonic > rescanAt) previous = undefined
    if (!previous) rescanAt = now.monotonic + RESCAN_INTERVAL
    const elapsed = previous && Math.max(now.monotonic - previous.monotonic, now.clock - previous.clock)
    const within = elapsed === undefined ? undefined : elapsed + OVERLAP
    return { startedAt: now, within, page: [], after: undefined, isLast: false }
  }

  /** Removes entries from the page: those that this worker can take, and those before them. */
  function select(page: UnhandledEntry[], { limit, maxBytes }: Room): number[] {
    const seqs: number[] = []
    let bytes = 0
    for (let entry = page[0]; entry && seqs.length < limit; entry = page[0]) {
      const { seq, size, changeTypes } = entry
      const isOwn = changeTypes.some((type) => handlesType(own, type)) && !isOthers(changeTypes)
      if (isOwn && !declined.has(seq)) {
        bytes += size
        if (seqs.length > 0 && bytes > maxBytes) break
        seqs.push(seq)
      }
      page.shift()
    }
    return seqs
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
      reading ??= readOthers().finally(() => {
        reading = undefined
      })
      await reading
      return deliveries.map(isOthers)
    },

    async take(room) {
      if (performance.now() < scanAt) return []
      scan ??= startScan()
      const current = scan
      if (current.page.length === 0) {
        const { within, after } = current
        current.page = await table.unhandled({ within, after, limit: PAGE_SIZE })
        current.after = current.page.at(-1)
        current.isLast = current.page.length < PAGE_SIZE
      }
      const seqs = select(current.page, room)
      if (current.isLast && current.page.length === 0 && scan === current) {
        previous = current.startedAt
        scan = undefined
        scanAt = performance.now() + SCAN_INTERVAL
      }
      if (seqs.length === 0) return []
      try {
        return (await table.take({ owner, lease, ...room, seqs })).taken
      } catch (error) {
        scanAll()
        throw error
      }
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
