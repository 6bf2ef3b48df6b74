import { configInvalid } from '../../errors.ts'
import type { DeliveryHandler, DurableInbox, Workers } from '../durable-inbox.ts'
import { createGenerations } from '../generations.ts'
import type { InboxConfig } from '../inbox-options.ts'
import { allHandle, readListOptions, readPurgeOptions, readWorkOptions, toPage } from '../method-options.ts'
import { startRetentionSweep } from '../retention-sweep.ts'
import { createConnection } from './connection.ts'
import { createRedisGenerations } from './generations.ts'
import { loadBullmq } from './packages.ts'
import { createPut } from './put.ts'
import { type OpenedQueue, openQueue } from './queue.ts'
import { countJobs, listEntries, oldestWaiting, readItem } from './read.ts'
import { startRedisWorkers } from './workers.ts'
import { discardJob, purgeJobs, retryJob } from './write.ts'

/** Maximum number of entries removed in one command. It is limited because the command blocks Redis. */
const PURGE_BATCH = 1_000

/** Dependencies of {@link createBullmqInbox}. */
export interface BullmqInboxOptions {
  url: string
  prefix: string
  queue: string
  config: InboxConfig
}

/** Creates an inbox from a BullMQ queue. It has no `DeliveriesTable`, because BullMQ has its own workers. */
export function createBullmqInbox({ url, prefix, queue: name, config }: BullmqInboxOptions): DurableInbox {
  const { maxPending, notify } = config
  const running = new Map<Workers, DeliveryHandler>()
  let closed = false
  const { run, close } = createConnection<OpenedQueue>({
    url,
    loadMore: loadBullmq,
    open: (client) => openQueue(client, name, prefix),
    onError: (error) => notify('trouble', { error }),
  })

  const purge = (state: 'done' | 'dead', before: number, limit: number): Promise<number> =>
    run((opened) => purgeJobs(opened, state, before, limit))

  return {
    generations: createGenerations(createRedisGenerations(run)),
    put: createPut(run, maxPending),

    work(receiver, options) {
      const work = readWorkOptions(receiver, options)
      if (closed) throw configInvalid('the inbox is closed')
      const workers = startRedisWorkers({ url, prefix, name, run, receiver, work, config })
      const sweep = startRetentionSweep({ purge }, config, Date.now)
      const started: Workers = {
        async close() {
          await Promise.all([workers.close(), sweep.close()])
          running.delete(started)
        },
      }
      running.set(started, receiver)
      return started
    },

    handles: (changeType) => allHandle(running.values(), changeType),

    stats: () =>
      run(async (opened) => {
        const oldest = await oldestWaiting(opened)
        return { ...(await countJobs(opened.queue)), maxPending, ...(oldest && { oldest }) }
      }),

    async list(options) {
      const query = readListOptions(options)
      return run(async (opened) => toPage(await listEntries(opened, query), query))
    },

    get: (id) => run((opened) => readItem(opened, id)),
    retry: (id) => run((opened) => retryJob(opened, id)),
    discard: (id) => run((opened) => discardJob(opened, id)),

    async purge(options) {
      const { state, olderThan } = readPurgeOptions(options)
      const before = Date.now() - olderThan
      for (let total = 0; ; ) {
        const removed = await purge(state, before, PURGE_BATCH)
        total += removed
        if (removed < PURGE_BATCH) return total
      }
    },

    async close() {
      closed = true
      await Promise.all([...running.keys()].map((workers) => workers.close()))
      await close()
    },
  }
}
