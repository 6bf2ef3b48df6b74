import type { StoredDelivery } from '../../receiver/types.ts'
import type { InboxState } from '../durable-inbox.ts'
import {
  ANNOUNCED,
  type Announcement,
  type AttemptEnd,
  type DeliveriesTable,
  type HeldDelivery,
  type QueueSettings,
  type TakenDelivery,
} from '../engine-port.ts'
import { serviceOf } from '../group-key.ts'
import { copyDelivery } from '../serialize.ts'
import { describeRow, forEachState, type ReadRow } from '../stored-row.ts'
import { createMemoryGenerations } from './generations.ts'

/**
 * Milliseconds after which `take` yields to timers and sockets. Handlers that never wait for I/O would otherwise block
 * them.
 */
const YIELD_INTERVAL = 10

/** A row of the table. */
interface Row extends HeldDelivery, ReadRow {
  delivery: StoredDelivery
  /** True if the current attempt is made alone. */
  isAlone: boolean
}

/** Creates an in-memory table of deliveries. */
export function createMemoryTable(clock: () => number): DeliveriesTable {
  /** All rows, in the order of receipt, by id and by `seq`. */
  const rows = new Map<string, Row>()
  const bySeq = new Map<number, Row>()
  /** The rows of each state, in the order in which they got into it. */
  const states: Readonly<Record<InboxState, Set<Row>>> = {
    waiting: new Set(),
    active: new Set(),
    done: new Set(),
    dead: new Set(),
    unhandled: new Set(),
  }
  const workers = new Map<string, Announcement & { seen: number }>()
  let settings: QueueSettings = { paused: false, concurrency: undefined }
  let closed = false
  let lastSeq = 0
  let latest = -Infinity
  let yieldedAt = performance.now()

  async function yieldIfLong(): Promise<void> {
    if (performance.now() - yieldedAt < YIELD_INTERVAL) return
    await new Promise((resolve) => setTimeout(resolve))
    yieldedAt = performance.now()
  }

  /** Reads the clock. If the clock was set back, moves all due times and leases back by the same amount. */
  function readTime(): number {
    const now = clock()
    if (now < latest)
      for (const row of [...states.waiting, ...states.active, ...states.unhandled]) row.due -= latest - now
    latest = now
    return now
  }

  function move(row: Row, state: InboxState, changes: Partial<Row>): void {
    states[row.state].delete(row)
    states[state].add(row)
    Object.assign(row, { owner: null, ...changes, state })
  }

  function takeRow(
    row: Row,
    attempts: number,
    now: number,
    { owner, lease, isSuspect }: { owner: string; lease: number; isSuspect: boolean },
  ): TakenDelivery {
    const token = row.token + 1
    move(row, 'active', { attempts, token, owner, started: now, due: now + lease, isAlone: false })
    const { seq, changeTypes, errors } = row
    return {
      seq,
      token,
      delivery: copyDelivery(row.delivery),
      changeTypes,
      errors,
      attempt: attempts,
      isSuspect,
    }
  }

  const heldBy = (owner: string, { seq, token }: HeldDelivery): Row | undefined => {
    const row = bySeq.get(seq)
    return row?.owner === owner && row.token === token ? row : undefined
  }

  function endAttempt(row: Row, end: AttemptEnd, now: number): void {
    move(row, end.state, {
      due: now + (end.state === 'waiting' ? end.delay : 0),
      ...('errors' in end && { errors: end.errors }),
      ...('attempts' in end && { attempts: end.attempts }),
    })
  }

  function retryRow(row: Row): void {
    move(row, 'waiting', { attempts: row.state === 'dead' ? 0 : row.attempts, due: readTime() })
  }

  function remove(row: Row): true {
    states[row.state].delete(row)
    bySeq.delete(row.seq)
    rows.delete(row.id)
    return true
  }

  const isChangeable = ({ state }: Row): boolean => state !== 'active' && state !== 'done'

  function requireOpen(): void {
    if (closed) throw new Error('the inbox is closed')
  }

  return {
    generations: createMemoryGenerations(requireOpen),

    async open() {
      requireOpen()
    },

    async put(delivery, { maxPending }) {
      requireOpen()
      const { id, changeTypes, events, receivedAt, rawBody } = delivery
      if (rows.has(id)) return 'duplicate'
      if (states.waiting.size + states.active.size >= maxPending) return 'full'
      const now = readTime()
      const row: Row = {
        seq: ++lastSeq,
        token: 0,
        id,
        state: 'waiting',
        due: now,
        attempts: 0,
        errors: [],
        received: receivedAt.getTime(),
        size: rawBody.length,
        changeTypes: [...changeTypes],
        service: serviceOf(events) ?? null,
        started: null,
        owner: null,
        isAlone: false,
        delivery: copyDelivery(delivery),
      }
      rows.set(id, row)
      bySeq.set(row.seq, row)
      states.waiting.add(row)
      return 'stored'
    },

    async announce(worker) {
      const seen = readTime()
      for (const [id, other] of workers) if (Math.abs(seen - other.seen) > ANNOUNCED) workers.delete(id)
      workers.set(worker.id, { ...worker, seen })
    },

    async withdraw(id) {
      workers.delete(id)
    },

    async workers() {
      const now = readTime()
      return [...workers.values()].filter(({ seen }) => Math.abs(now - seen) <= ANNOUNCED)
    },

    async unhandled({ within = Infinity, after, limit }) {
      const since = readTime() - within
      const isListed = ({ due, seq }: Row): boolean =>
        due >= since && (!after || due > after.endedAt || (due === after.endedAt && seq > after.seq))
      const listed = [...states.unhandled].filter(isListed).sort((a, b) => a.due - b.due || a.seq - b.seq)
      return listed
        .slice(0, limit)
        .map(({ seq, due, size, changeTypes }) => ({ seq, endedAt: due, size, changeTypes }))
    },

    async take({ owner, lease, limit, maxBytes, seqs }) {
      await yieldIfLong()
      if (settings.paused) return { taken: [] }
      const now = readTime()
      const taken: TakenDelivery[] = []
      let [bytes, next] = [0, Infinity]
      const given = (seqs ?? []).flatMap((seq) => bySeq.get(seq) ?? [])
      for (const row of seqs ? given.filter((row) => states.unhandled.has(row)) : states.waiting) {
        if (!seqs) next = Math.min(next, row.due)
        if (!seqs && row.due > now) continue
        bytes += row.size
        if (taken.length > 0 && bytes > maxBytes) break
        taken.push(takeRow(row, row.attempts + 1, now, { owner, lease, isSuspect: false }))
        if (taken.length === limit) break
      }
      return { taken, wait: next === Infinity ? undefined : next - now }
    },

    async takeSuspect({ owner, lease, attempts, except, isAlone }) {
      if (settings.paused) return undefined
      const now = readTime()
      for (const row of states.active) {
        if (row.due > now || except.has(row.id)) continue
        const attempt = row.attempts + Number(row.isAlone)
        if (attempt === attempts && !isAlone) return 'last'
        const taken = takeRow(row, Math.min(attempt, attempts), now, { owner, lease, isSuspect: true })
        row.isAlone = attempt > attempts
        return { ...taken, attempt }
      }
      return undefined
    },

    async startAlone(owner, held, lease) {
      const row = heldBy(owner, held)
      if (row) Object.assign(row, { isAlone: true, due: readTime() + lease })
      return row !== undefined
    },

    async renew(owner, held, lease) {
      const due = readTime() + lease
      return held.flatMap((delivery) => {
        const row = heldBy(owner, delivery)
        if (row) row.due = due
        return row ? row.seq : []
      })
    },

    async endAttempts(owner, ends) {
      const now = readTime()
      return ends.flatMap((ended) => {
        const row = heldBy(owner, ended)
        if (row) endAttempt(row, ended.end, now)
        const known = bySeq.get(ended.seq)
        return known?.token === ended.token && known.owner === null ? known.seq : []
      })
    },

    settings: async () => settings,

    async set(name, value) {
      requireOpen()
      settings = { ...settings, [name]: value }
    },

    async counts() {
      let oldest: Row | undefined
      for (const row of states.waiting) if (!oldest || row.seq < oldest.seq) oldest = row
      const counts = forEachState((state) => states[state].size)
      return { ...counts, ...(oldest && { oldest: new Date(oldest.received) }) }
    },

    async list({ state, limit, order, after }) {
      const listed = []
      const all = order === 'oldest' ? rows.values() : [...rows.values()].reverse()
      for (const row of all) {
        const { seq } = row
        if (state && row.state !== state) continue
        if (after !== undefined && (order === 'oldest' ? seq <= after : seq >= after)) continue
        listed.push({ seq, entry: describeRow(row) })
        if (listed.length > limit) break
      }
      return listed
    },

    async get(id) {
      const row = rows.get(id)
      return row && { ...describeRow(row), delivery: copyDelivery(row.delivery) }
    },

    async retry(id) {
      const row = rows.get(id)
      if (!row || !isChangeable(row)) return false
      retryRow(row)
      return true
    },

    async retryAll(state, after, limit) {
      const ended = [...states[state]].filter(({ seq }) => seq > after).sort((a, b) => a.seq - b.seq)
      const retried = ended.slice(0, limit)
      for (const row of retried) retryRow(row)
      return retried.map(({ seq }) => seq)
    },

    async discard(id) {
      const row = rows.get(id)
      return row !== undefined && isChangeable(row) && remove(row)
    },

    async purge(state, age, limit) {
      const before = readTime() - age
      let removed = 0
      for (const row of states[state]) {
        if (removed === limit) break
        if (row.due <= before && remove(row)) removed++
      }
      return removed
    },

    async close() {
      closed = true
    },
  }
}
