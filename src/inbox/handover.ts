import { receiverPort } from '../receiver/port.ts'
import type { DeliveryHandler } from './durable-inbox.ts'
import {
  type Announcement,
  type DeliveriesTable,
  type TakenDelivery,
  type TakeRequest,
  type TaskKey,
  taskName,
  type UnhandledEntry,
} from './engine-port.ts'
import {
  type HandledNames,
  handledUnder,
  handlesAny,
  handlesMore,
  handlesSome,
  handlesType,
  toHandledNames,
} from './routing.ts'

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

/** Maximum number of deliveries without room that a scan passes, so that those of other names are found. */
const MAX_BLOCKED = 5_000

/** Maximum number of deliveries that a worker remembers not to have handled. Then it takes no more unhandled ones. */
const MAX_DECLINED = 10_000

/**
 * How workers with different handlers share an inbox, for example two versions of an app. Workers announce what they
 * handle. A worker ends a delivery as unhandled if it has no handler for it, or if another worker handles more of its
 * change types. Workers look for unhandled deliveries that they handle, and take them. A suspect stays one: only the
 * worker with its handlers can find out whether they end the process.
 */
export interface Handover {
  /** Announces what the worker handles, if that has changed or the last announcement is old. */
  announce(): Promise<void>
  /** The names under which this worker takes tasks. */
  handlers(): string[]
  /** True if this worker has names. */
  areNames(): boolean
  /** Routes at most `limit` deliveries if a worker has names. Resolves with their number. */
  route(limit: number): Promise<number>
  /** Returns, for each task, whether another worker has handlers for more of its change types. */
  areOthers(tasks: readonly Typed[]): Promise<boolean[]>
  /** Takes unhandled tasks that this worker handles. Returns none if the last scan was a short time ago. */
  take(roomOf: (handler: string) => Room): Promise<TakenDelivery[]>
  /** True if a scan has not ended, because there are many unhandled deliveries. */
  isScanning(): boolean
  /** Returns true if this worker has handlers, but none for any of the change types. */
  isForeign(task: Typed): boolean
  /** Keeps this worker from taking a task again for which its receiver had no handler. */
  decline(task: TaskKey): void
  /** Leaves a suspect to other workers. */
  leave(suspect: TakenDelivery): Promise<void>
  /** Names of the suspects that were left to other workers. */
  readonly left: ReadonlySet<string>
  /** Announces the end of the worker. */
  close(): Promise<void>
}

type Typed = Pick<TakenDelivery, 'handler' | 'changeTypes'>

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
  /** What is left of the pages that were read: deliveries that this worker can take. */
  page: UnhandledEntry[]
  /** The last entry that was read. */
  after: UnhandledEntry | undefined
  /** True if no page follows. */
  isLast: boolean
  /** True if there is no room for any entry of the page. */
  isBlocked: boolean
}

interface HandoverOptions {
  table: DeliveriesTable
  receiver: DeliveryHandler
  owner: string
  lease: number
  clock: () => number
  order: TakeRequest['order']
}

export function createHandover({ table, receiver, owner, lease, clock, order }: HandoverOptions): Handover {
  const declined = new Set<string>()
  const left = new Set<string>()
  let own: HandledNames = new Map()
  let ownAnnouncement: Announcement | undefined
  let announceAt = -Infinity
  let others: readonly { id: string; handled: HandledNames }[] = []
  let known = ''
  let scan: Scan | undefined
  let previous: Times | undefined
  let [scanAt, readAt] = [-Infinity, -Infinity]
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
    others = [...workers.map((worker) => ({ id: worker.id, handled: toHandledNames(worker) })), ...missing]
    const kinds = new Set(others.map(({ handled }) => describe(handled)))
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
  const isForeign = ({ handler, changeTypes }: Typed): boolean =>
    changeTypes.length > 0 && !handlesAny(handledUnder(own, handler), changeTypes)

  const isOthers = ({ handler, changeTypes }: Typed): boolean =>
    others.some(({ handled }) =>
      handlesMore(handledUnder(handled, handler), handledUnder(own, handler), changeTypes),
    )

  const areNames = (): boolean => own.size > 1

  const isRouting = (): boolean => areNames() || others.some(({ handled }) => handled.size > 1)

  const isUnnamed = (handled: HandledNames): boolean => handlesSome(handledUnder(handled, ''))

  function handlers(): string[] {
    const areLeft = !isUnnamed(own) && others.some(({ handled }) => isUnnamed(handled))
    return [...own.keys()].filter((name) => name !== '' || !areLeft)
  }

  const canTake = (entry: UnhandledEntry): boolean =>
    handlers().includes(entry.handler) && !isForeign(entry) && !isOthers(entry) && !declined.has(keyOf(entry))

  /** True if workers have names, and one of them handles a delivery under a name, or this one can without a name. */
  const mustRoute = (entry: UnhandledEntry): boolean =>
    entry.handler === '' &&
    !entry.isRouted &&
    isRouting() &&
    (canTake(entry) ||
      [own, ...others.map(({ handled }) => handled)].some((handled) =>
        [...handled].some(([name, types]) => name !== '' && handlesAny(types, entry.changeTypes)),
      ))

  function startScan(): Scan {
    const now = readTimes()
    if (now.monotonic > rescanAt) previous = undefined
    if (!previous) rescanAt = now.monotonic + RESCAN_INTERVAL
    const elapsed = previous && Math.max(now.monotonic - previous.monotonic, now.clock - previous.clock)
    const isLong = now.monotonic > longAt
    if (isLong) longAt = now.monotonic + ANNOUNCE_INTERVAL
    const within = elapsed === undefined ? undefined : elapsed + (isLong ? LONG_OVERLAP : OVERLAP)
    return { startedAt: now, within, page: [], after: undefined, isLast: false, isBlocked: false }
  }

  /**
   * Removes entries from the page: those that this worker can take, all with one name; those that must be routed; and those
   * for other workers. Entries without room stay.
   */
  function select(page: UnhandledEntry[], roomOf: (handler: string) => Room) {
    const selected: number[] = []
    const unrouted: number[] = []
    const rooms = new Map<string, Room>()
    let handler: string | undefined
    let bytes = 0
    for (const entry of page.splice(0)) {
      const room = rooms.get(entry.handler) ?? roomOf(entry.handler)
      rooms.set(entry.handler, room)
      const isFull = selected.length >= room.limit || (handler ?? entry.handler) !== entry.handler
      if (mustRoute(entry)) unrouted.push(entry.seq)
      else if (isFull) page.push(entry)
      else if (canTake(entry)) {
        bytes += entry.size
        if (handler !== undefined && bytes > room.maxBytes) page.push(entry)
        else selected.push(entry.seq)
        handler = entry.handler
      }
    }
    return { handler: handler ?? '', seqs: selected, unrouted }
  }

  return {
    async announce() {
      watchClock()
      const handled = { id: owner, ...announcementOf(receiver) }
      const names = toHandledNames(handled)
      const isChanged = describe(names) !== describe(own)
      if (!isChanged && performance.now() < announceAt) return
      await table.announce(handled)
      if (isChanged) {
        declined.clear()
        scanAll()
      }
      own = names
      ownAnnouncement = handled
      announceAt = performance.now() + ANNOUNCE_INTERVAL
      await readOthers()
    },

    handlers,

    areNames,

    route: async (limit) => (isRouting() ? table.route(limit, ownAnnouncement) : 0),

    async areOthers(tasks) {
      const isWhole = ({ handler, changeTypes }: Typed): boolean =>
        changeTypes.every((type) => handlesType(handledUnder(own, handler), type))
      if (tasks.every(isWhole)) return tasks.map(() => false)
      watchClock()
      reading ??= readOthers().finally(() => {
        reading = undefined
      })
      await reading
      return tasks.map(isOthers)
    },

    async take(roomOf) {
      if (performance.now() < scanAt || declined.size >= MAX_DECLINED) return []
      scan ??= startScan()
      const current = scan
      const isNextDue = current.page.length < MAX_BLOCKED && performance.now() > readAt
      if (current.page.length === 0 || (current.isBlocked && isNextDue)) {
        const { within, after } = current
        const read = await table.unhandled({ within, after, limit: PAGE_SIZE })
        readAt = performance.now() + SCAN_INTERVAL
        current.page.push(...read.filter((entry) => mustRoute(entry) || canTake(entry)))
        current.after = read.at(-1) ?? after
        current.isLast = read.length < PAGE_SIZE
      }
      const { handler, seqs, unrouted } = select(current.page, roomOf)
      current.isBlocked = current.page.length > 0 && seqs.length + unrouted.length === 0
      if (current.isLast && current.page.length === 0 && scan === current) {
        previous = current.startedAt
        scan = undefined
        scanAt = performance.now() + SCAN_INTERVAL
      }
      try {
        if (unrouted.length > 0) await table.reroute(unrouted)
        if (seqs.length === 0) return []
        const { taken } = await table.take({
          owner,
          handler,
          lease,
          ...roomOf(handler),
          seqs,
          areNames: areNames(),
          order,
        })
        if (taken.length === 0 && (await table.settings()).paused) scanAll()
        return taken
      } catch (error) {
        scanAll()
        throw error
      }
    },

    isScanning: () => scan !== undefined && !scan.isBlocked && declined.size < MAX_DECLINED,

    isForeign: (task) => [...own.values()].some(handlesSome) && isForeign(task),

    decline: (task) => void declined.add(keyOf(task)),

    async leave(suspect) {
      left.add(taskName(suspect.delivery.id, suspect.handler))
      await table.renew(owner, [suspect], 0)
    },

    left,

    async close() {
      if (ownAnnouncement) await table.withdraw(owner).catch(() => {}) // it expires without this, too
    },
  }
}

const keyOf = ({ seq, handler }: TaskKey): string => taskName(String(seq), handler)

/** What a receiver handles. Any other object is asked about every delivery. */
function announcementOf(receiver: DeliveryHandler): Omit<Announcement, 'id'> {
  const fates = [...(receiverPort(receiver)?.fates ?? [['', undefined] as const])]
  const handled = fates.map(([name, fate]) => [name, fate && [...fate.changeTypes]] as const)
  const unnamed = handled.find(([name]) => name === '')
  return {
    changeTypes: unnamed ? unnamed[1] : [],
    names: new Map(handled.flatMap(([name, types = []]) => (name === '' ? [] : [[name, types]]))),
  }
}

const describe = (handled: HandledNames): string =>
  JSON.stringify([...handled].map(([name, types]) => [name, types && [...types]]))
