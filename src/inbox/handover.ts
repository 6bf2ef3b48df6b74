import { subscriptionsOf } from '../payload/events.ts'
import { receiverPort } from '../receiver/port.ts'
import type { DeliveryHandler } from './durable-inbox.ts'
import type { DeliveriesTable, TakenDelivery, TakeRequest, UnhandledEntry } from './engine-port.ts'

/** Milliseconds between two announcements of a worker, and between two scans for unhandled deliveries. */
const [ANNOUNCE_INTERVAL, SCAN_INTERVAL] = [10_000, 1_000]

/**
 * Milliseconds by which a scan overlaps the previous one, because transactions are committed later than they begin. After
 * an announcement, it overlaps by more, in case a commit took long.
 */
const [OVERLAP, LONG_OVERLAP] = [2_000, 60_000]

/** Milliseconds between two scans of all unhandled deliveries, for those that became unhandled while a clock was set. */
const RESCAN_INTERVAL = 600_000

/** Maximum number of deliveries read at once. */
const PAGE_SIZE = 500

/** Maximum number of deliveries that a worker remembers not to have handled. Then it takes no more unhandled ones. */
const MAX_DECLINED = 10_000

/** The change types that a worker handles, as passed to `on`. Undefined if it is asked about every delivery. */
type HandledTypes = ReadonlySet<string> | undefined

export const toHandled = (changeTypes: readonly string[] | undefined): HandledTypes =>
  changeTypes && new Set(changeTypes)

/** Returns true if a worker handles a change type. */
export const handlesType = (handled: HandledTypes, changeType: string): boolean =>
  handled === undefined || subscriptionsOf(changeType).some((name) => handled.has(name))

/**
 * Returns true if `other` handles all of the change types that `own` handles, and at least one more of them. A worker
 * that does not say what it handles may decline a delivery, so it handles more only if `own` handles nothing.
 */
function handlesMore(other: HandledTypes, own: HandledTypes, changeTypes: readonly string[]): boolean {
  if (other === undefined) return !changeTypes.some((type) => handlesType(own, type))
  return (
    changeTypes.every((type) => handlesType(other, type) || !handlesType(own, type)) &&
    changeTypes.some((type) => handlesType(other, type) && !handlesType(own, type))
  )
}

/**
 * How workers with different handlers share an inbox, for example two versions of an app. Workers announce what they
 * handle. A worker ends a delivery as unhandled if it has no handler for it, or if another worker handles more of its
 * change types. Workers look for unhandled deliveries that they handle, and take them. A suspect stays one: only the
 * worker with its handlers can find out whether they end the process.
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
  /** Returns true if this worker has handlers, but none for any of the change types. */
  isForeign(changeTypes: readonly string[]): boolean
  /** Keeps this worker from taking a delivery again for which its receiver had no handler. */
  decline(seq: number): void
  /** Leaves a suspect to other workers. */
  leave(suspect: TakenDelivery): Promise<void>
  /** Ids of the suspects that were left to other workers. */
  readonly left: ReadonlySet<string>
  /** Announces the end of the worker. */
  close(): Promise<void>
}

type Room = Pick<TakeRequest, 'limit' | 'maxBytes'>

/** The time on two clocks. The monotonic one stops while the machine is suspended; the other one can be set back. */
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
  const left = new Set<string>()
  let own: HandledTypes
  let announced: string | undefined
  let announceAt = -Infinity
  let others: readonly { id: string; handled: HandledTypes }[] = []
  let known = ''
  let scan: Scan | undefined
  let previous: Times | undefined
  let scanAt = -Infinity
  let [longAt, rescanAt] = [-Infinity, -Infinity]
  let reading: Promise<void> | undefined

  const readTimes = (): Times => ({ monotonic: performance.now(), clock: clock() })
  let read = readTimes()
  /** After the clock was set, until when workers may be missing in the table, because they have to announce themselves. */
  let sureAt = -Infinity

  function watchClock(): void {
    const now = readTimes()
    const isSet = Math.abs(now.clock - read.clock - (now.monotonic - read.monotonic)) > ANNOUNCE_INTERVAL
    read = now
    if (!isSet) return
    announceAt = -Infinity
    sureAt = now.monotonic + ANNOUNCE_INTERVAL
  }

  async function readOthers(): Promise<void> {
    const workers = (await table.workers()).filter(({ id }) => id !== owner)
    const ids = new Set(workers.map(({ id }) => id))
    const missing = performance.now() < sureAt ? others.filter(({ id }) => !ids.has(id)) : []
    others = [...workers.map(({ id, changeTypes }) => ({ id, handled: toHandled(changeTypes) })), ...missing]
    const kinds = new Set(others.map(({ handled }) => JSON.stringify(handled && [...handled])))
    const all = [...kinds].sort().join()
    if (all === known) return
    // What another worker would have taken may now be for this one.
    known = all
    scanAll()
  }

  function scanAll(): void {
    left.clear()
    scan = undefined
    previous = undefined
    scanAt = -Infinity
  }

  /** Damaged rows can lack the change types. */
  const isForeign = (changeTypes: readonly string[]): boolean =>
    changeTypes.length > 0 && !changeTypes.some((type) => handlesType(own, type))

  const isOthers = (changeTypes: readonly string[]): boolean =>
    others.some(({ handled }) => handlesMore(handled, own, changeTypes))

  function startScan(): Scan {
    const now = readTimes()
    if (now.monotonic > rescanAt) previous = undefined
    if (!previous) rescanAt = now.monotonic + RESCAN_INTERVAL
    const elapsed = previous && Math.max(now.monotonic - previous.monotonic, now.clock - previous.clock)
    const isLong = now.monotonic > longAt
    if (isLong) longAt = now.monotonic + ANNOUNCE_INTERVAL
    const within = elapsed === undefined ? undefined : elapsed + (isLong ? LONG_OVERLAP : OVERLAP)
    return { startedAt: now, within, page: [], after: undefined, isLast: false }
  }

  /** Removes entries from the page: those that this worker can take, and those before them. */
  function select(page: UnhandledEntry[], { limit, maxBytes }: Room): number[] {
    const seqs: number[] = []
    let bytes = 0
    for (let entry = page[0]; entry && seqs.length < limit; entry = page[0]) {
      const { seq, size, changeTypes } = entry
      const isOwn = !isForeign(changeTypes) && !isOthers(changeTypes)
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
      watchClock()
      const changeTypes = receiverPort(receiver)?.changeTypes()
      const text = JSON.stringify([changeTypes])
      if (text === announced && performance.now() < announceAt) return
      await table.announce({ id: owner, changeTypes })
      if (text !== announced) {
        declined.clear()
        scanAll()
      }
      own = toHandled(changeTypes)
      announced = text
      announceAt = performance.now() + ANNOUNCE_INTERVAL
      await readOthers()
    },

    async areOthers(deliveries) {
      const isWhole = (types: readonly string[]): boolean => types.every((type) => handlesType(own, type))
      if (deliveries.every(isWhole)) return deliveries.map(() => false)
      watchClock()
      reading ??= readOthers().finally(() => {
        reading = undefined
      })
      await reading
      return deliveries.map(isOthers)
    },

    async take(room) {
      if (performance.now() < scanAt || declined.size >= MAX_DECLINED) return []
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
        const { taken } = await table.take({ owner, lease, ...room, seqs })
        if (taken.length === 0 && (await table.settings()).paused) scanAll()
        return taken
      } catch (error) {
        scanAll()
        throw error
      }
    },

    isScanning: () => scan !== undefined && declined.size < MAX_DECLINED,

    isForeign: (changeTypes) => own?.size !== 0 && isForeign(changeTypes),

    decline: (seq) => void declined.add(seq),

    async leave(suspect) {
      left.add(suspect.delivery.id)
      await table.renew(owner, [suspect], 0)
    },

    left,

    async close() {
      if (announced !== undefined) await table.withdraw(owner).catch(() => {}) // it expires without this, too
    },
  }
}
