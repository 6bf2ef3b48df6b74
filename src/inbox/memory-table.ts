import type { StoredDelivery } from '../receiver/delivery.ts'
import type { InboxEntry } from './inbox.ts'
import { toStored } from './stored.ts'
import type { Table } from './table.ts'

/** Milliseconds after which timers and sockets have their turn, also where no handler waits for anything. */
const YIELD = 10

/** An entry, and what nobody outside sees. */
interface Row {
  /** In the order of reception. */
  number: number
  entry: InboxEntry
  delivery: StoredDelivery
  /** When it is due, or when its lease runs out, or when it ended. */
  at: number
  owner?: string
}

/** A table in the memory of this process. */
export function createMemoryTable(clock: () => number): Table {
  /** Those that wait or are active, in the order in which they came. */
  const pending = new Map<string, Row>()
  /** Those that are done or dead, in the order in which they ended. */
  const ended = new Map<string, Row>()
  let closed = false
  let number = 0
  let latest = -Infinity
  let yieldedAt = performance.now()

  async function yieldNow(): Promise<void> {
    if (performance.now() - yieldedAt < YIELD) return
    await new Promise((resolve) => setTimeout(resolve))
    yieldedAt = performance.now()
  }

  /** The time. If the clock was set back, all due times and leases are moved back with it. */
  function readTime(): number {
    const now = clock()
    if (now < latest) for (const row of pending.values()) move(row, row.at - (latest - now))
    latest = now
    return now
  }

  function move(row: Row, at: number): void {
    row.at = at
    if (row.entry.state === 'waiting') row.entry = { ...row.entry, dueAt: new Date(at) }
  }

  const find = (id: string): Row | undefined => pending.get(id) ?? ended.get(id)
  const inOrder = (): Row[] => [...pending.values(), ...ended.values()].sort((a, b) => a.number - b.number)

  return {
    async put(delivery, { maxPending }) {
      if (closed) throw new Error('the inbox is closed')
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
      pending.set(id, { number: number++, entry, delivery: toStored(delivery), at: now })
      return 'stored'
    },

    async claim({ owner, inProgress, lease, attempts: most, suspects }) {
      await yieldNow()
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
      next.entry = { ...entry, state: 'active', attempts: Math.max(attempts, Math.min(attempts + 1, most)) }
      next.owner = owner
      next.at = now + lease
      return { claimed: { delivery: toStored(next.delivery), attempt: attempts + 1, isSuspect } }
    },

    async renew(owner, ids, lease) {
      const kept = ids.filter((id) => pending.get(id)?.owner === owner)
      const at = readTime() + lease
      for (const id of kept) Object.assign(pending.get(id) ?? {}, { at })
      return kept
    },

    async settle(owner, id, end) {
      const row = pending.get(id)
      if (row?.owner !== owner) return false
      const now = readTime()
      delete row.owner
      if (end.state === 'waiting') {
        const { state, error, delay } = end
        row.entry = { ...row.entry, state, error }
        move(row, now + delay)
        return true
      }
      row.entry = { ...row.entry, ...end, endedAt: new Date(now) }
      row.at = now
      pending.delete(id)
      ended.set(id, row)
      return true
    },

    async counts() {
      const counts = { waiting: 0, active: 0, done: 0, dead: 0 }
      const rows = inOrder()
      for (const { entry } of rows) counts[entry.state]++
      const oldest = rows.find(({ entry }) => entry.state === 'waiting')
      return { ...counts, ...(oldest && { oldest: oldest.entry.receivedAt }) }
    },

    async list({ state, limit, offset }) {
      const found = inOrder().filter(({ entry }) => !state || entry.state === state)
      return found.slice(offset, offset + limit + 1).map(({ entry }) => ({ ...entry }))
    },

    async get(id) {
      const row = find(id)
      return row && { ...row.entry, delivery: toStored(row.delivery) }
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
