import type { StoredDelivery } from '../../receiver/types.ts'
import type { InboxEntry, InboxState } from '../durable-inbox.ts'
import {
  ANNOUNCED,
  type Announcement,
  type AttemptEnd,
  type DeliveriesTable,
  type HeldDelivery,
  type TakenDelivery,
} from '../engine-port.ts'
import { copyDelivery } from '../serialize.ts'
import { forEachState } from '../stored-row.ts'
import { createMemoryGenerations } from './generations.ts'

/**
 * Milliseconds after which `take` yields to timers and sockets. Handlers that never wait for I/O would otherwise block
 * them.
 */
const YIELD_INTERVAL = 10

/** An entry, with fields that only this table uses. */
interface Row extends HeldDelivery {
  entry: InboxEntry
  delivery: StoredDelivery
  /** Due time of a waiting delivery, expiry of the lease of an active one, or end time of another. */
  at: number
  owner?: string
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
      for (const row of [...states.waiting, ...states.active, ...states.unhandled])
        setTime(row, row.at - (latest - now))
    latest = now
    return now
  }

  function setTime(row: Row, at: number): void {
    row.at = at
    if (row.entry.state === 'waiting') row.entry = { ...row.entry, dueAt: new Date(at) }
  }

  function move(row: Row, state: InboxState, changes: Partial<InboxEntry> = {}): void {
    const { dueAt: _, endedAt: __, ...entry } = row.entry
    states[entry.state].delete(row)
    states[state].add(row)
    row.entry = { ...entry, state, ...changes }
    delete row.owner
  }

  function takeRow(
    row: Row,
    attempts: number,
    until: number,
    { owner, isSuspect }: { owner: string; isSuspect: boolean },
  ): TakenDelivery {
    const { seq } = row
    move(row, 'active', { attempts })
    const token = ++row.token
    Object.assign(row, { owner, isAlone: false, at: until })
    const { changeTypes } = row.entry
    return { seq, token, delivery: copyDelivery(row.delivery), changeTypes, attempt: attempts, isSuspect }
  }

  const heldBy = (owner: string, { seq, token }: HeldDelivery): Row | undefined => {
    const row = bySeq.get(seq)
    return row?.owner === owner && row.token === token ? row : undefined
  }

  function endAttempt(row: Row, end: AttemptEnd, now: number): void {
    if (end.state === 'waiting') {
      move(row, 'waiting', { error: end.error })
      setTime(row, now + end.delay)
    } else {
      move(row, end.state, { ...end, endedAt: new Date(now) })
      row.at = now
    }
  }

  function retryRow(row: Row): void {
    move(row, 'waiting', { attempts: row.entry.state === 'dead' ? 0 : row.entry.attempts })
    setTime(row, readTime())
  }

  function remove(row: Row): true {
    states[row.entry.state].delete(row)
    bySeq.delete(row.seq)
    rows.delete(row.entry.id)
    return true
  }

  const isChangeable = ({ entry: { state } }: Row): boolean => state !== 'active' && state !== 'done'

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
      const { id, changeTypes, receivedAt, rawBody } = delivery
      if (rows.has(id)) return 'duplicate'
      if (states.waiting.size + states.active.size >= maxPending) return 'full'
      const now = readTime()
      const entry: InboxEntry = {
        id,
        state: 'waiting',
        attempts: 0,
        dueAt: new Date(now),
        changeTypes: [...changeTypes],
        size: rawBody.length,
        receivedAt,
      }
      const seq = ++lastSeq
      const row: Row = { seq, token: 0, entry, delivery: copyDelivery(delivery), at: now, isAlone: false }
      rows.set(id, row)
      bySeq.set(seq, row)
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
      const isListed = ({ at, seq }: Row): boolean =>
        at >= since && (!after || at > after.endedAt || (at === after.endedAt && seq > after.seq))
      const listed = [...states.unhandled].filter(isListed).sort((a, b) => a.at - b.at || a.seq - b.seq)
      return listed.slice(0, limit).map(({ seq, at, entry: { size, changeTypes } }) => ({
        seq,
        endedAt: at,
        size,
        changeTypes,
      }))
    },

    async take({ owner, lease, limit, maxBytes, seqs }) {
      await yieldIfLong()
      const now = readTime()
      const taken: TakenDelivery[] = []
      let [bytes, next] = [0, Infinity]
      const given = (seqs ?? []).flatMap((seq) => bySeq.get(seq) ?? [])
      for (const row of seqs ? given.filter((row) => states.unhandled.has(row)) : states.waiting) {
        if (!seqs) next = Math.min(next, row.at)
        if (!seqs && row.at > now) continue
        bytes += row.entry.size
        if (taken.length > 0 && bytes > maxBytes) break
        taken.push(takeRow(row, row.entry.attempts + 1, now + lease, { owner, isSuspect: false }))
        if (taken.length === limit) break
      }
      return { taken, wait: next === Infinity ? undefined : next - now }
    },

    async takeSuspect({ owner, lease, attempts, except, isAlone }) {
      const now = readTime()
      for (const row of states.active) {
        if (row.at > now || except.has(row.entry.id)) continue
        const attempt = row.entry.attempts + Number(row.isAlone)
        if (attempt === attempts && !isAlone) return 'last'
        const taken = takeRow(row, Math.min(attempt, attempts), now + lease, { owner, isSuspect: true })
        row.isAlone = attempt > attempts
        return { ...taken, attempt }
      }
      return undefined
    },

    async startAlone(owner, held, lease) {
      const row = heldBy(owner, held)
      if (row) Object.assign(row, { isAlone: true, at: readTime() + lease })
      return row !== undefined
    },

    async renew(owner, held, lease) {
      const at = readTime() + lease
      return held.flatMap((delivery) => {
        const row = heldBy(owner, delivery)
        if (row) row.at = at
        return row ? row.seq : []
      })
    },

    async endAttempts(owner, ends) {
      const now = readTime()
      return ends.flatMap((ended) => {
        const row = heldBy(owner, ended)
        if (row) endAttempt(row, ended.end, now)
        const known = bySeq.get(ended.seq)
        return known?.token === ended.token && known.owner === undefined ? known.seq : []
      })
    },

    async counts() {
      let oldest: Row | undefined
      for (const row of states.waiting) if (!oldest || row.seq < oldest.seq) oldest = row
      const counts = forEachState((state) => states[state].size)
      return { ...counts, ...(oldest && { oldest: oldest.entry.receivedAt }) }
    },

    async list({ state, limit, order, after }) {
      const listed = []
      const all = order === 'oldest' ? rows.values() : [...rows.values()].reverse()
      for (const { seq, entry } of all) {
        if (state && entry.state !== state) continue
        if (after !== undefined && (order === 'oldest' ? seq <= after : seq >= after)) continue
        listed.push({ seq, entry: { ...entry } })
        if (listed.length > limit) break
      }
      return listed
    },

    async get(id) {
      const row = rows.get(id)
      return row && { ...row.entry, delivery: copyDelivery(row.delivery) }
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
        if (row.at <= before && remove(row)) removed++
      }
      return removed
    },

    async close() {
      closed = true
    },
  }
}
