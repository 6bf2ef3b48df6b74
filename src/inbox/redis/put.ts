import type { IRedisClient } from 'bullmq'
import type { Delivery } from '../../receiver/types.ts'
import { type BatchLimits, type BatchResults, createBatches } from '../batches.ts'
import { createCapacity } from '../capacity.ts'
import type { DurableInbox } from '../durable-inbox.ts'
import { toEnvelope } from '../serialize.ts'
import { CALL_TIMEOUT, type Connection, withoutCommand } from './connection.ts'
import { loadBullmq } from './packages.ts'
import type { OpenedQueue } from './queue.ts'
import { countPending } from './read.ts'
import { DATA_FIELD, ENTRY_FIELD, toEntryHead, toJobId, toJobOptions } from './schema.ts'

/** With two small batches in flight, Redis adds the jobs of one batch while this process builds the next. */
const BATCHES: BatchLimits = { items: 25, inFlight: 2, maxWait: CALL_TIMEOUT }

/** Milliseconds for which a count of pending jobs is reused. */
const COUNT_TTL = 100

/** The result that `MARK` returns for each key. */
const MARKED = { duplicate: 0, stored: 1, missing: 2 }

/**
 * Sets `ENTRY_FIELD` in the jobs in `KEYS`. A job that lacks the field is new; BullMQ itself does not report whether a
 * job already existed. A hash that is not a job is deleted, because BullMQ would mistake the hash for a job.
 */
const MARK = `local marked = {}
for index, key in ipairs(KEYS) do
  local is_job = redis.pcall('HEXISTS', key, '${DATA_FIELD}')
  if is_job == 1 then
    marked[index] = redis.call('HSETNX', key, ARGV[1], ARGV[index + 1])
  else
    marked[index] = ${MARKED.missing}
    if is_job == 0 then redis.call('DEL', key) end
  end
end
return marked`

/** The member of a BullMQ 5 queue that resolves with BullMQ's wrapped client. */
interface WithClient {
  client: Promise<IRedisClient>
}

/** Creates a function that puts deliveries into a BullMQ queue. */
export function createPut(run: Connection<OpenedQueue>['run'], maxPending: number): DurableInbox['put'] {
  const capacity = createCapacity(() => run(({ queue }) => countPending(queue)), COUNT_TTL)
  const add = createBatches(BATCHES, (deliveries: readonly Delivery[]) =>
    run((opened) => addAll(opened, deliveries)),
  )

  return async (delivery) => {
    if (!(await capacity.acquire(maxPending))) {
      const isJob = await run(({ queue, client }) =>
        client.hexists(queue.toKey(toJobId(delivery.id)), DATA_FIELD),
      )
      if (isJob > 0) return 'duplicate'
      throw new Error(`the inbox is full: ${maxPending} deliveries are in it`)
    }
    let result: 'stored' | 'duplicate' | undefined
    try {
      result = await add(delivery, delivery.rawBody.length)
      return result
    } finally {
      capacity.release(result === 'stored')
    }
  }
}

type AddResult = 'stored' | 'duplicate' | 'missing' | Error

/** Adds jobs. Adds those that are `missing` a second time. */
async function addAll(
  opened: OpenedQueue,
  deliveries: readonly Delivery[],
): Promise<BatchResults<'stored' | 'duplicate'>> {
  const first = await addJobs(opened, deliveries)
  const missing = deliveries.filter((_, index) => first[index] === 'missing')
  const again = missing.length > 0 ? await addJobs(opened, missing) : []
  return first.map((result) => {
    const last = result === 'missing' ? again.shift() : result
    return last === undefined || last === 'missing' ? new Error('Redis has not stored the delivery') : last
  })
}

/**
 * Adds jobs. A job is `missing` if its key held a hash that was not a job, or if Redis had not cached BullMQ's script.
 * In the second case, ioredis sends BullMQ's script again, after our script `MARK`.
 */
async function addJobs(
  { queue, client }: OpenedQueue,
  deliveries: readonly Delivery[],
): Promise<AddResult[]> {
  const { Job } = await loadBullmq()
  // BullMQ's scripts need BullMQ's own wrapper of the client. BullMQ 5 exposes the wrapper on the queue, later versions
  // on a backend.
  const owner = 'getBackend' in queue ? queue.getBackend() : (queue as WithClient)
  const wrapped = await owner.client
  const keys: string[] = []
  const heads: string[] = []
  const adding = deliveries.map((delivery) => {
    const options = toJobOptions(delivery)
    keys.push(queue.toKey(options.jobId))
    heads.push(toEntryHead(delivery))
    return new Job(queue, 'delivery', toEnvelope(delivery), options, options.jobId).addJob(wrapped)
  })
  // Send `MARK` after the jobs on the same connection, so that Redis runs it last.
  const marking = client.eval(MARK, keys.length, ...keys, ENTRY_FIELD, ...heads) as Promise<number[]>
  const [added, marked] = await Promise.all([Promise.allSettled(adding), marking])
  const partial = new Set<string>()
  for (const [index, { id }] of deliveries.entries()) {
    if (!isRefused(added[index]) || marked[index] === MARKED.duplicate) continue
    // If Redis refuses a command of BullMQ's script, the job may be stored, but not queued. Then the retry of the sender
    // would be a duplicate, and the delivery would never be handled.
    if ((await queue.getJobState(toJobId(id))) === 'unknown') partial.add(queue.toKey(toJobId(id)))
  }
  if (partial.size > 0) await client.del(...partial)
  return added.map((settled, index) => {
    if (settled.status === 'rejected') return withoutCommand(settled.reason)
    if (partial.has(keys[index] as string)) return new Error('Redis has not stored the delivery')
    if (marked[index] === MARKED.missing) return 'missing'
    return marked[index] === MARKED.stored ? 'stored' : 'duplicate'
  })
}

/** True if the server has refused a command, and the connection has not failed. */
const isRefused = (result: PromiseSettledResult<unknown> | undefined): boolean =>
  result?.status === 'rejected' && (result.reason as Error).name === 'ReplyError'
