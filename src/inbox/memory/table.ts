import type { StoredDelivery } from '../../receiver/types.ts'
import type { InboxEntry } from '../durable-inbox.ts'
import type { AttemptEnd, DeliveriesTable } from '../engine-port.ts'
import { copyDelivery } from '../serialize.ts'
import { createMemoryGenerations } from './generations.ts'

/**
 * Milliseconds after which `take` yields to timers and sockets. Handlers that never wait for I/O would otherwise block
 * them.
 */
const YIELD_INTERVAL = 10

/** An entry, with fields that only this table uses. */
interface Row {
  /** Sequence number, in the order of receipt. */
  number: number
  entry: InboxEntry
  delivery: StoredDelivery
  /** Due time of a waiting delivery, expiry of the lease of an active one, or end time of a done or dead one. */
  at: number
  owner?: string
}

/** Creates an in-memory table of deliveries. */
export function createMemoryTable(clock: () => number): DeliveriesTable {
  /** Waiting and active rows, in the order in which they were added. */
  const pending = new Map<string, Row>()
  /** Done and dead rows, in the order in which they ended. */
  const ended = new Map<string, Row>()
  let closed = false
  let number = 0
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
    if (now < latest) for (const row of pending.values()) setTime(row, row.at - (latest - now))
    latest = now
    return now
  }

  function setTime(row: Row, at: number): void {
    row.at = at
    if (row.entry.state === 'waiting') row.entry = { ...row.entry, dueAt: new Date(at) }
  }

  /** @returns false if the owner has lost the delivery */
  function endAttempt(owner: string, id: string, end: AttemptEnd): boolean {
    const row = pending.get(id)
    if (row?.owner !== owner) return false
    const now = readTime()
    delete row.owner
    if (end.state === 'waiting') {
      const { state, error, delay } = end
      row.entry = { ...row.entry, state, error }
      setTime(row, now + delay)
      return true
    }
    row.entry = { ...row.entry, ...end, endedAt: new Date(now) }
    row.at = now
    pending.delete(id)
    ended.set(id, row)
    return true
  }

  const find = (id: string): Row | undefined => pending.get(id) ?? ended.get(id)
  const byReception = (): Row[] =>
    [...pending.values(), ...ended.values()].sort((a, b) => a.number - b.number)

  function requireOpen(): void {
    if (closed) throw new Error('the inbox is closed')
  }

  return {
    generations: createMemoryGenerations(requireOpen),

    async put(delivery, { maxPending }) {
      requireOpen()
      const { id, changeTypes, receivedAt, rawBody } = delivery
      if (find(id)) return 'duplicate'
      if (pending.size >= maxPending) return 'full'
      const now = readTime()
      const fresh = { state: 'waiting', attempts: 0, dueAt: new Date(now) } as const
      const entry: InboxEntry = {
        id,
        ...fresh,
        changeTypes: [...changeTypes],
        size: rawBody.length,
        receivedAt,
      }
      pending.set(id, { number: number++, entry, delivery: copyDelivery(delivery), at: now })
      return 'stored'
    },

    async take({ owner, inProgress, lease, attempts: maxAttempts, suspects }) {
      await yieldIfLong()
      const now = readTime()
      let next: Row | undefined
      for (const row of pending.values()) {
        if (inProgress.has(row.entry.id)) continue
        if (row.entry.state === 'active' && !suspects) continue
        if (!next || row.at < next.at) next = row
        if (next.at <= now) break
      }
      if (!next || next.at > now) return { wait: next && next.at - now }
      const isSuspect = next.entry.state === 'active'
      const { dueAt: _, attempts, ...entry } = next.entry
      next.entry = {
        ...entry,
        state: 'active',
        attempts: Math.max(attempts, Math.min(attempts + 1, maxAttempts)),
      }
      next.owner = owner
      next.at = now + lease
      return { taken: { delivery: copyDelivery(next.delivery), attempt: attempts + 1, isSuspect } }
    },

    async renew(owner, ids, lease) {
      const kept = ids.filter((id) => pending.get(id)?.owner === owner)
      const at = readTime() + lease
      for (const id of kept) Object.assign(pending.get(id) ?? {}, { at })
      return kept
    },

    async endAttempts(owner, ends) {
      return ends.flatMap(({ id, end }) => (endAttempt(owner, id, end) ? id : []))
    },

    async counts() {
      const counts = { waiting: 0, active: 0, done: 0, dead: 0 }
      const rows = byReception()
      for (const { entry } of rows) counts[entry.state]++
      const oldest = rows.find(({ entry }) => entry.state === 'waiting')
      return { ...counts, ...(oldest && { oldest: oldest.entry.receivedAt }) }
    },

    async list({ state, limit, offset }) {
      const found = byReception().filter(({ entry }) => !state || entry.state === state)
      return found.slice(offset, offset + limit + 1).map(({ entry }) => ({ ...entry }))
    },

    async get(id) {
      const row = find(id)
      return row && { ...row.entry, delivery: copyDelivery(row.delivery) }
    },

    async retry(id) {
      const row = find(id)
      const now = readTime()
      if (row?.entry.state !== 'dead' && row?.entry.state !== 'waiting') return false
      const { endedAt: _, ...entry } = row.entry
      const attempts = entry.state === 'dead' ? 0 : entry.attempts
      row.entry = { ...entry, state: 'waiting', attempts, dueAt: new Date(now) }
      row.at = now
      ended.delete(id)
      pending.set(id, row)
      return true
    },

    async discard(id) {
      if (ended.get(id)?.entry.state === 'dead') return ended.delete(id)
      return pending.get(id)?.entry.state === 'waiting' && pending.delete(id)
    },

    async purge(state, before, limit) {
      const old = [...ended.values()].filter(({ entry, at }) => entry.state === state && at <= before)
      for (const { entry } of old.slice(0, limit)) ended.delete(entry.id)
      return Math.min(old.length, limit)
    },

    async close() {
      closed = true
    },
  }
}
