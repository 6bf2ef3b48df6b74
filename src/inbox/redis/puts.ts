import type { IRedisClient } from 'bullmq'
import type { Delivery } from '../../receiver/delivery.ts'
import { type BatchBounds, createBatches, type Outcomes } from '../batches.ts'
import type { DurableInbox } from '../inbox.ts'
import { createRoom } from '../room.ts'
import { toEnvelope } from '../stored.ts'
import { type Connection, toPlain } from './connection.ts'
import { ENTRY_FIELD, toEntryHead, toJobId, toJobOptions } from './jobs.ts'
import { loadBullmq } from './packages.ts'
import { countPending, type OpenedQueue } from './queue.ts'

/** Two small batches: Redis adds the jobs of one while the next one is made. */
const BATCHES: BatchBounds = { items: 25, inFlight: 2 }

/** Milliseconds for which a count of what is pending is good. */
const COUNT_GOOD = 100

/**
 * Gives jobs their entry field, in the order of KEYS: 1 if the job had none, so it is new. BullMQ leaves a job alone that
 * is there, and does not say so. A key without a job stays without one: a hash would pass for a job.
 */
const MARK = `local marked = {}
for index, key in ipairs(KEYS) do
  local set = 1
  if redis.call('EXISTS', key) == 1 then set = redis.pcall('HSETNX', key, ARGV[1], ARGV[index + 1]) end
  marked[index] = set == 1 and 1 or 0
end
return marked`

interface Wrapping {
  client: Promise<IRedisClient>
}

/** Puts deliveries into a queue of BullMQ. */
export function createPuts(run: Connection<OpenedQueue>['run'], maxPending: number): DurableInbox['put'] {
  const room = createRoom(() => run(({ queue }) => countPending(queue)), COUNT_GOOD)
  const add = createBatches(BATCHES, (deliveries: readonly Delivery[]) =>
    run((opened) => addJobs(opened, deliveries)),
  )

  return async (delivery) => {
    if (!(await room.take(maxPending))) {
      const exists = await run(({ queue, client }) => client.exists(queue.toKey(toJobId(delivery.id))))
      if (exists > 0) return 'duplicate'
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

async function addJobs(
  { queue, client }: OpenedQueue,
  deliveries: readonly Delivery[],
): Promise<Outcomes<'stored' | 'duplicate'>> {
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
    return marked[index] === 1 ? 'stored' : 'duplicate'
  })
}
