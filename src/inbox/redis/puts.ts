import type { IRedisClient } from 'bullmq'
import type { Delivery } from '../../receiver/delivery.ts'
import { type BatchBounds, createBatches, type Outcomes } from '../batches.ts'
import type { DurableInbox } from '../inbox.ts'
import { createRoom } from '../room.ts'
import { toEnvelope } from '../stored.ts'
import { type Connection, PATIENCE, toPlain } from './connection.ts'
import { DATA_FIELD, ENTRY_FIELD, toEntryHead, toJobId, toJobOptions } from './jobs.ts'
import { loadBullmq } from './packages.ts'
import { countPending, type OpenedQueue } from './queue.ts'

/** Two small batches: Redis adds the jobs of one while the next one is made. */
const BATCHES: BatchBounds = { items: 25, inFlight: 2, patience: PATIENCE }

/** Milliseconds for which a count of what is pending is good. */
const COUNT_GOOD = 100

/** MARK's result for each key. */
const MARKED = { duplicate: 0, stored: 1, missing: 2 }

/**
 * Gives jobs their entry field, in the order of KEYS. A job without the field is new: BullMQ leaves an existing job
 * alone, and does not report it. A hash that is not a job is deleted, because BullMQ would take it for one.
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

interface Wrapping {
  client: Promise<IRedisClient>
}

/** Puts deliveries into a queue of BullMQ. */
export function createPuts(run: Connection<OpenedQueue>['run'], maxPending: number): DurableInbox['put'] {
  const room = createRoom(() => run(({ queue }) => countPending(queue)), COUNT_GOOD)
  const add = createBatches(BATCHES, (deliveries: readonly Delivery[]) =>
    run((opened) => addAll(opened, deliveries)),
  )

  return async (delivery) => {
    if (!(await room.take(maxPending))) {
      const isJob = await run(({ queue, client }) =>
        client.hexists(queue.toKey(toJobId(delivery.id)), DATA_FIELD),
      )
      if (isJob > 0) return 'duplicate'
      throw new Error(`the inbox is full: ${maxPending} deliveries are in it`)
    }
    let kept: 'stored' | 'duplicate' | undefined
    try {
      kept = await add(delivery, delivery.rawBody.length)
      return kept
    } finally {
      room.end(kept === 'stored')
    }
  }
}

type Added = 'stored' | 'duplicate' | 'missing' | Error

/** Adds jobs, and those once more that are missing then. */
async function addAll(
  opened: OpenedQueue,
  deliveries: readonly Delivery[],
): Promise<Outcomes<'stored' | 'duplicate'>> {
  const first = await addJobs(opened, deliveries)
  const missing = deliveries.filter((_, index) => first[index] === 'missing')
  const again = missing.length > 0 ? await addJobs(opened, missing) : []
  return first.map((added) => {
    const last = added === 'missing' ? again.shift() : added
    return last === undefined || last === 'missing' ? new Error('Redis has not stored the delivery') : last
  })
}

/**
 * A job is missing if its key held a hash that was not a job, or if Redis had forgotten BullMQ's script: ioredis then
 * sends the script a second time, behind ours.
 */
async function addJobs({ queue, client }: OpenedQueue, deliveries: readonly Delivery[]): Promise<Added[]> {
  const { Job } = await loadBullmq()
  // BullMQ's scripts need the client as BullMQ has wrapped it; BullMQ 5 has no backend.
  const wrapping = 'getBackend' in queue ? queue.getBackend() : (queue as Wrapping)
  const wrapped = await wrapping.client
  const keys: string[] = []
  const heads: string[] = []
  const adding = deliveries.map((delivery) => {
    const options = toJobOptions(delivery)
    keys.push(queue.toKey(options.jobId))
    heads.push(toEntryHead(delivery))
    return new Job(queue, 'delivery', toEnvelope(delivery), options, options.jobId).addJob(wrapped)
  })
  // Behind them on the same connection, so Redis runs it last.
  const marking = client.eval(MARK, keys.length, ...keys, ENTRY_FIELD, ...heads) as Promise<number[]>
  const [added, marked] = await Promise.all([Promise.allSettled(adding), marking])
  return added.map((one, index) => {
    if (one.status === 'rejected') return toPlain(one.reason)
    if (marked[index] === MARKED.missing) return 'missing'
    return marked[index] === MARKED.stored ? 'stored' : 'duplicate'
  })
}
