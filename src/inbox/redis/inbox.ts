import { configInvalid } from '../../errors.ts'
import type { DurableInbox, Workers } from '../inbox.ts'
import { type InboxConfig, readConcurrency, readListOptions, readPurgeOptions, toPage } from '../options.ts'
import { startSweeping } from '../sweep.ts'
import { createConnection } from './connection.ts'
import { DATA_FIELD, readDelivery, STALLED_FIELD, toJobId } from './jobs.ts'
import { listEntries, oldestWaiting, readEntry } from './listing.ts'
import { createPuts } from './puts.ts'
import { countJobs, findJob, isChanged, type OpenedQueue, openQueue } from './queue.ts'
import { startRedisWorkers } from './workers.ts'

/** Entries that are removed in one go: Redis does nothing else meanwhile. */
const AT_ONCE = 1_000

/** What an inbox over BullMQ needs. */
export interface BullmqInboxOptions {
  url: string
  prefix: string
  queue: string
  config: InboxConfig
}

export function createBullmqInbox({ url, prefix, queue: name, config }: BullmqInboxOptions): DurableInbox {
  const { maxPending, tell } = config
  const working = new Set<Workers>()
  let closed = false
  const { run, close } = createConnection<OpenedQueue>({
    url,
    open: (client) => openQueue(client, name, prefix),
    onError: (error) => tell('trouble', { error }),
  })

  async function purge(state: 'done' | 'dead', before: number, limit: number): Promise<number> {
    const type = state === 'done' ? 'completed' : 'failed'
    return run(async ({ queue }) => (await queue.clean(Date.now() - before, limit, type)).length)
  }

  return {
    put: createPuts(run, maxPending),

    work(receiver, options) {
      const concurrency = readConcurrency(receiver, options)
      if (closed) throw configInvalid('the inbox is closed')
      const workers = startRedisWorkers({ url, prefix, name, run, receiver, concurrency, config })
      const sweeping = startSweeping({ purge }, config, Date.now)
      const both: Workers = {
        async close() {
          await Promise.all([workers.close(), sweeping.close()])
          working.delete(both)
        },
      }
      working.add(both)
      return both
    },

    stats: () =>
      run(async ({ queue, client }) => {
        const oldest = await oldestWaiting(queue, client)
        return { ...(await countJobs(queue)), maxPending, ...(oldest && { oldest }) }
      }),

    async list(options) {
      const listing = readListOptions(options)
      return run(async ({ queue, client }) => toPage(await listEntries(queue, client, listing), listing))
    },

    get: (id) =>
      run(async ({ queue, client }) => {
        const jobId = toJobId(id)
        for (;;) {
          const type = await queue.getJobState(jobId)
          if (type === 'unknown') return undefined
          const [entry, data] = await Promise.all([
            readEntry(queue, client, jobId, type),
            client.hget(queue.toKey(jobId), DATA_FIELD),
          ])
          // It was moved meanwhile: what was read does not fit together.
          if ((await queue.getJobState(jobId)) !== type) continue
          return entry && { ...entry, delivery: readDelivery(() => JSON.parse(data ?? 'null')) }
        }
      }),

    retry: (id) =>
      run(async ({ queue, client }) => {
        const found = await findJob(queue, id)
        if (found?.state === 'dead') {
          await client.hdel(queue.toKey(toJobId(id)), STALLED_FIELD)
          return isChanged(found.job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true }))
        }
        if (found?.type === 'delayed') return isChanged(found.job.promote())
        return found?.state === 'waiting'
      }),

    discard: (id) =>
      run(async ({ queue }) => {
        const found = await findJob(queue, id)
        if (found?.state !== 'dead' && found?.state !== 'waiting') return false
        return isChanged(found.job.remove())
      }),

    async purge(options) {
      const { state, olderThan } = readPurgeOptions(options)
      const before = Date.now() - olderThan
      for (let removed = 0; ; ) {
        const some = await purge(state, before, AT_ONCE)
        removed += some
        if (some < AT_ONCE) return removed
      }
    },

    async close() {
      closed = true
      await Promise.all([...working].map((workers) => workers.close()))
      await close()
    },
  }
}
