import { configInvalid } from '../errors.ts'
import type { DurableInbox, Workers } from './inbox.ts'
import { type InboxConfig, readConcurrency, readListOptions, readPurgeOptions, toPage } from './options.ts'
import { startSweeping } from './sweep.ts'
import type { Table } from './table.ts'
import { startWorkers } from './workers.ts'

/** Entries that are removed in one go. */
const AT_ONCE = 1_000

/** An inbox over a table of our own. */
export function createQueueInbox(table: Table, config: InboxConfig, clock: () => number): DurableInbox {
  const working = new Set<ReturnType<typeof startWorkers>>()
  const inProgress = new Set<string>()
  let closed = false
  const wake = () => {
    for (const workers of working) workers.wake()
  }

  return {
    async put(delivery) {
      const { maxPending } = config
      const kept = await table.put(delivery, { maxPending })
      if (kept === 'full') throw new Error(`the inbox is full: ${maxPending} deliveries are in it`)
      if (kept === 'stored') wake()
      return kept
    },

    work(receiver, options) {
      const concurrency = readConcurrency(receiver, options)
      if (closed) throw configInvalid('the inbox is closed')
      const workers = startWorkers({ table, receiver, concurrency, config, clock, inProgress })
      const sweeping = startSweeping(table, config, clock)
      const both: Workers & { wake(): void } = {
        wake: workers.wake,
        async close() {
          await Promise.all([workers.close(), sweeping.close()])
          working.delete(both)
        },
      }
      working.add(both)
      return both
    },

    stats: async () => ({ ...(await table.counts()), maxPending: config.maxPending }),
    async list(options) {
      const listing = readListOptions(options)
      return toPage(await table.list(listing), listing)
    },
    get: (id) => table.get(id),

    async retry(id) {
      const isRetried = await table.retry(id)
      if (isRetried) wake()
      return isRetried
    },

    discard: (id) => table.discard(id),

    async purge(options) {
      const { state, olderThan } = readPurgeOptions(options)
      const before = clock() - olderThan
      for (let removed = 0; ; ) {
        const some = await table.purge(state, before, AT_ONCE)
        removed += some
        if (some === 0) return removed
      }
    },

    async close() {
      closed = true
      await Promise.all([...working].map((workers) => workers.close()))
      await table.close()
    },
  }
}
