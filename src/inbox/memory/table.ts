import type { ErrorGroup, InboxState } from '../durable-inbox.ts'
import {
  ANNOUNCED,
  type Announcement,
  type AttemptEnd,
  type DeliveriesTable,
  type HeldTask,
  type QueueSettings,
  type TakenDelivery,
  taskName,
} from '../engine-port.ts'
import { MAX_GROUPS } from '../filter.ts'
import { createRouting } from '../routing.ts'
import { copyDelivery } from '../serialize.ts'
import { describeRow, forEachState, toItem } from '../stored-row.ts'
import { createMemoryGenerations } from './generations.ts'
import { createRow, inOrder, isAfter, isMatch, kindOf, type Row } from './row.ts'

/**
 * Milliseconds after which `take` yields to timers and sockets. Handlers that never wait for I/O would otherwise block
 * them.
 */
const YIELD_INTERVAL = 10

export function createMemoryTable(clock: () => number): DeliveriesTable {
  /** The tasks of all deliveries, in the order of receipt, by the name of the handlers. */
  const tasksById = new Map<string, Map<string, Row>>()
  const tasksBySeq = new Map<number, Map<string, Row>>()
  /** The rows of each state, in the order in which they got into it. */
  const states = forEachState(() => new Set<Row>())
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
      for (const row of [...states.waiting, ...states.active, ...states.unhandled]) {
        row.due -= latest - now
        if (row.failingSince !== null) row.failingSince -= latest - now
      }
    latest = now
    return now
  }

  function move(row: Row, state: InboxState, changes: Partial<Row>): void {
    states[row.state].delete(row)
    states[state].add(row)
    Object.assign(row, { owner: null, isHeld: false, ...changes, state })
  }

  function takeRow(
    row: Row,
    attempts: number,
    now: number,
    { owner, lease, isSuspect }: { owner: string; lease: number; isSuspect: boolean },
  ): TakenDelivery {
    const token = row.token + 1
    move(row, 'active', { attempts, token, owner, started: now, due: now + lease, isAlone: false })
    const { seq, handler, changeTypes, errors, isRerun } = row
    return {
      seq,
      handler,
      token,
      delivery: copyDelivery(row.delivery),
      changeTypes,
      errors,
      attempt: attempts,
      isSuspect,
      isRerun,
    }
  }

  const heldBy = (owner: string, { seq, handler, token }: HeldTask): Row | undefined => {
    const row = tasksBySeq.get(seq)?.get(handler)
    return row?.owner === owner && row.token === token ? row : undefined
  }

  function add(row: Row): void {
    const tasks = tasksById.get(row.id) ?? new Map<string, Row>()
    tasksById.set(row.id, tasks.set(row.handler, row))
    tasksBySeq.set(row.seq, tasks)
    states[row.state].add(row)
  }

  const liveWorkers = (now: number): Announcement[] =>
    [...workers.values()].filter(({ seen }) => Math.abs(now - seen) <= ANNOUNCED)

  const tasksOf = (id: string, handler: string | undefined): Row[] =>
    [...(tasksById.get(id)?.values() ?? [])].filter((row) => (handler ?? row.handler) === row.handler)

  function endAttempt(row: Row, end: AttemptEnd, now: number): void {
    move(row, end.state, {
      due: now + (end.state === 'waiting' ? end.delay : 0),
      ...('errors' in end && { errors: end.errors }),
      ...('attempts' in end && { attempts: end.attempts }),
      ...(end.state === 'waiting' && { failingSince: row.failingSince ?? now }),
      ...((end.state === 'done' || end.state === 'dead') && { failingSince: null, isPassed: false }),
    })
    // A worker that starts later can have a name for it.
    if (end.state === 'unhandled' && row.handler === '' && tasksById.get(row.id)?.size === 1)
      row.isRouted = false
  }

  function retryRow(row: Row): void {
    move(row, 'waiting', {
      attempts: row.state === 'dead' || row.state === 'done' ? 0 : row.attempts,
      due: readTime(),
      isRerun: row.isRerun || row.state === 'done',
    })
  }

  function remove(row: Row): true {
    states[row.state].delete(row)
    const tasks = tasksById.get(row.id)
    tasks?.delete(row.handler)
    if (tasks?.size === 0) {
      tasksById.delete(row.id)
      tasksBySeq.delete(row.seq)
    }
    return true
  }

  function retryRows(rows: readonly Row[]): boolean {
    rows.forEach(retryRow)
    return rows.length > 0
  }

  /** Marks tasks as passed that have failed for too long. Returns a function that returns true for a task that must wait. */
  function keepOrder(
    handler: string,
    given: readonly Row[],
    { hold, now }: { hold: number; now: number },
  ): (row: Row) => boolean {
    const next = new Map<string, number>()
    const add = ({ key, isPassed, isRouted, ...row }: Row, seq: number): void => {
      const isOther = row.handler !== handler && isRouted
      if (key !== null && !isPassed && !isOther) next.set(key, Math.min(seq, next.get(key) ?? seq))
    }
    for (const row of states.waiting) {
      if (row.failingSince !== null && now - row.failingSince >= hold) row.isPassed = row.key !== null
      add(row, row.seq)
    }
    for (const row of given) add(row, row.seq)
    for (const row of states.active) add(row, 0)
    return ({ key, isPassed, seq }) => key !== null && !isPassed && next.get(key) !== seq
  }

  function requireOpen(): void {
    if (closed) throw new Error('the inbox is closed')
  }

  return {
    generations: createMemoryGenerations(requireOpen),

    open: async () => requireOpen(),

    async put(delivery, { maxPending }) {
      requireOpen()
      if (tasksById.has(delivery.id)) return 'duplicate'
      if (states.waiting.size + states.active.size >= maxPending) return 'full'
      add(createRow(delivery, ++lastSeq, readTime()))
      return 'stored'
    },

    async announce(worker) {
      const seen = readTime()
      for (const [id, other] of workers) if (Math.abs(seen - other.seen) > ANNOUNCED) workers.delete(id)
      workers.set(worker.id, { ...worker, seen })
    },

    withdraw: async (id) => void workers.delete(id),

    workers: async () => liveWorkers(readTime()),

    async unhandled({ within = Infinity, after, limit }) {
      const since = readTime() - within
      const isListed = (row: Row): boolean =>
        row.due >= since &&
        (!after || row.due > after.endedAt || (row.due === after.endedAt && isAfter(row, after)))
      const listed = inOrder(states.unhandled).filter(isListed)
      listed.sort((a, b) => a.due - b.due) // stable
      return listed.slice(0, limit).map((row) => ({ ...row, endedAt: row.due }))
    },

    async route(limit, own) {
      const now = readTime()
      const routeOf = createRouting([...liveWorkers(now), ...(own ? [own] : [])])
      if (!routeOf) return 0
      let routed = 0
      for (const row of states.waiting) {
        if (row.handler !== '' || row.isRouted || row.due > now) continue
        const { names, isUnnamed } = routeOf(row.changeTypes)
        for (const handler of names)
          if (!tasksById.get(row.id)?.has(handler))
            add({
              ...row,
              handler,
              token: 0,
              attempts: 0,
              errors: [],
              failingSince: null,
              started: null,
              isRouted: true,
            })
        row.isRouted = true
        if (!isUnnamed) remove(row)
        if (++routed === limit) break
      }
      return routed
    },

    async reroute(seqs) {
      for (const seq of seqs) {
        const row = tasksBySeq.get(seq)?.get('')
        if (row && row.state === 'unhandled' && !row.isRouted) move(row, 'waiting', { due: readTime() })
      }
    },

    async take({ owner, handler, lease, limit, maxBytes, seqs, areNames, order }) {
      await yieldIfLong()
      if (settings.paused) return { taken: [] }
      const now = readTime()
      const taken: TakenDelivery[] = []
      let [bytes, next] = [0, Infinity]
      const onlyRouted = areNames || createRouting(liveWorkers(now)) !== undefined
      const given = (seqs ?? [])
        .flatMap((seq) => tasksBySeq.get(seq)?.get(handler) ?? [])
        .filter((row) => states.unhandled.has(row))
      const mustWait = order && keepOrder(handler, given, { ...order, now })
      for (const row of seqs ? given : states.waiting) {
        if (row.handler !== handler || (onlyRouted && !row.isRouted)) continue
        row.isHeld = (seqs || row.due <= now) && (mustWait?.(row) ?? false)
        if (row.isHeld && seqs) move(row, 'waiting', { due: now, isHeld: true })
        if (row.isHeld) continue
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
        const max = attempts.get(row.handler)
        if (max === undefined || row.due > now || except.has(taskName(row.id, row.handler))) continue
        const attempt = row.attempts + Number(row.isAlone)
        if (attempt === max && !isAlone) return 'last'
        const taken = takeRow(row, Math.min(attempt, max), now, { owner, lease, isSuspect: true })
        row.isAlone = attempt > max
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
      return held.map((task) => {
        const row = heldBy(owner, task)
        if (row) row.due = due
        return row !== undefined
      })
    },

    async endAttempts(owner, ends) {
      const now = readTime()
      return ends.map((ended) => {
        const row = heldBy(owner, ended)
        if (row) endAttempt(row, ended.end, now)
        const known = tasksBySeq.get(ended.seq)?.get(ended.handler)
        return known?.token === ended.token && known.owner === null
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

    async list({ state, filter, limit, compared, order, after }) {
      const all = inOrder([...tasksById.values()].flatMap((tasks) => [...tasks.values()]))
      if (order === 'newest') all.reverse()
      const rows = all
        .filter((row) => !state || row.state === state)
        .filter((row) => !after || (order === 'oldest' ? isAfter(row, after) : isAfter(after, row)))
        .slice(0, compared)
      const now = readTime()
      const listed = rows.filter((row) => isMatch(row, filter, now)).slice(0, limit + 1)
      return {
        listed: listed.map((row) => ({ seq: row.seq, handler: row.handler, entry: describeRow(row) })),
        last: rows[compared - 1],
      }
    },

    async get(id) {
      const tasks = inOrder(tasksOf(id, undefined))
      return toItem(tasks.map(describeRow), () => copyDelivery((tasks[0] as Row).delivery))
    },

    retry: async (id, handler) =>
      retryRows(tasksOf(id, handler).filter(({ state }) => state !== 'active' && state !== 'done')),

    rerun: async (id, handler) => retryRows(tasksOf(id, handler).filter(({ state }) => state === 'done')),

    async discard(id, handler) {
      const now = readTime()
      const tasks = tasksOf(id, handler)
      const isDone = handler !== undefined || tasks.every(({ state }) => state === 'done')
      const discarded = tasks.filter(({ state, due }) =>
        state === 'done' ? isDone : state !== 'active' || due <= now,
      )
      discarded.forEach(remove)
      return discarded.length > 0
    },

    async changeAll(change, filter, after, limit) {
      const now = readTime()
      const rest = [...states[filter.state]].filter((row) => isAfter(row, after))
      const rows = inOrder(rest).slice(0, limit)
      const changed = rows.filter((row) => isMatch(row, filter, now))
      changed.forEach(change === 'discard' ? remove : retryRow)
      return { changed: changed.length, last: rows.at(-1) }
    },

    async errors(limit) {
      const letters = [...states.dead].sort((a, b) => b.due - a.due || b.seq - a.seq).slice(0, limit)
      const groups = new Map<string, ErrorGroup>()
      for (const row of letters) {
        const [error, at] = [kindOf(row), new Date(row.due)]
        const { count, last, id } = groups.get(error) ?? { count: 0, last: at, id: row.id }
        groups.set(error, { error, count: count + 1, first: at, last, id })
      }
      const largest = [...groups.values()].sort((a, b) => b.count - a.count) // stable
      return { groups: largest.slice(0, MAX_GROUPS), examined: letters.length }
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
