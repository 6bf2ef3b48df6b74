import { configInvalid } from '../errors.ts'
import type { DeliveryHandler, DurableInbox, Workers } from './durable-inbox.ts'
import type {
  ChangedPage,
  DeliveriesTable,
  EndState,
  TaskChange,
  TaskFilter,
  TaskKey,
} from './engine-port.ts'
import { createGenerations } from './generations.ts'
import type { OpenInbox, PutEnded } from './inbox-observer.ts'
import type { InboxConfig } from './inbox-options.ts'
import {
  allHandle,
  hasConditions,
  readConcurrency,
  readListOptions,
  readTaskFilter,
  readWorkOptions,
  toPage,
} from './method-options.ts'
import { startRetentionSweep } from './retention-sweep.ts'
import { locksOf, withLocks } from './service-locks.ts'
import { startTableWorkers } from './table-workers.ts'

/** Maximum number of entries removed, or compared with a filter, in one transaction. */
const BATCH = 1_000

/** Maximum number of dead letters that `errors()` groups. */
const MAX_EXAMINED = 100_000

export function createTableInbox(
  table: DeliveriesTable,
  config: InboxConfig,
  clock: () => number,
): DurableInbox {
  const running = new Map<ReturnType<typeof startTableWorkers>, DeliveryHandler>()
  const inProgress = new Set<string>()
  const generations = withLocks(createGenerations(table.generations))
  const { enter } = locksOf(generations)
  const open: OpenInbox = {
    async stats() {
      const [counts, { paused, concurrency }] = await Promise.all([table.counts(), table.settings()])
      const { maxPending } = config
      return { ...counts, maxPending, paused, ...(concurrency !== undefined && { concurrency }) }
    },
  }
  let closed = false
  let watching: { close(): void } | undefined
  const wakeWorkers = () => {
    for (const workers of running.keys()) workers.wake()
  }

  /** Creates a method that makes one delivery due, or all of a state that match. */
  const makeDue =
    (change: 'retry' | 'rerun', ...states: EndState[]) =>
    async (target: string | TaskFilter, handler?: string): Promise<boolean | number> => {
      const changed =
        typeof target === 'string'
          ? await table[change](target, handler)
          : await changeAll(change, readTaskFilter(target, states))
      if (changed) wakeWorkers()
      return changed
    }

  /** Goes through the deliveries in order, so that one that fails again is retried once. */
  async function changeAll(change: TaskChange, filter: TaskFilter): Promise<number> {
    let total = 0
    for (let after: TaskKey | undefined = { seq: 0, handler: '' }; after; ) {
      const page: ChangedPage = await table.changeAll(change, filter, after, BATCH)
      total += page.changed
      after = page.last
    }
    return total
  }

  /** Removes the deliveries that ended longest ago first. */
  async function purgeAll(state: EndState, age: number): Promise<number> {
    for (let total = 0; ; ) {
      const removed = await table.purge(state, age, BATCH)
      total += removed
      if (removed === 0) return total
    }
  }

  config.notify('opened', open)
  return {
    generations,

    async ready() {
      await table.open()
    },

    async put(delivery) {
      const { maxPending, notify } = config
      const started = performance.now()
      let result: PutEnded['result'] = 'failed'
      try {
        const stored = await table.put(delivery, { maxPending })
        if (stored === 'full') throw new Error(`the inbox is full: ${maxPending} deliveries are in it`)
        if (stored === 'stored') wakeWorkers()
        result = stored
        return stored
      } finally {
        notify('put', { result, milliseconds: performance.now() - started })
      }
    },

    work(receiver, options) {
      const work = readWorkOptions(receiver, options)
      if (closed) throw configInvalid('the inbox is closed')
      const workers = startTableWorkers({ table, receiver, enter, work, config, clock, inProgress })
      const sweep = startRetentionSweep(table, config)
      watching ??= table.watch?.(wakeWorkers)
      const started: Workers & { wake(): void } = {
        wake: workers.wake,
        async close() {
          await Promise.all([workers.close(), sweep.close()])
          running.delete(started)
        },
      }
      running.set(started, receiver)
      return started
    },

    handles: (changeType) => allHandle(running.values(), changeType),

    pause: () => table.set('paused', true),

    resume: () => table.set('paused', false).then(wakeWorkers),

    setConcurrency: async (concurrency) => table.set('concurrency', readConcurrency(concurrency)),

    stats: open.stats,

    async list(options) {
      const query = readListOptions(options)
      return toPage(await table.list(query), query.limit)
    },
    get: async (id) => (typeof id === 'string' ? table.get(id) : undefined),

    retry: makeDue('retry', 'dead', 'unhandled') as DurableInbox['retry'],

    rerun: makeDue('rerun', 'done') as DurableInbox['rerun'],

    errors: () => table.errors(MAX_EXAMINED),

    discard: async (id, handler) => typeof id === 'string' && table.discard(id, handler),

    async purge(options) {
      const filter = readTaskFilter(options)
      const { state, olderThan = 0, ...conditions } = filter
      return hasConditions(conditions) ? changeAll('discard', filter) : purgeAll(state, olderThan)
    },

    async close() {
      if (!closed) config.notify('closed', open)
      closed = true
      watching?.close()
      await Promise.all([...running.keys()].map((workers) => workers.close()))
      await table.close()
    },
  }
}
