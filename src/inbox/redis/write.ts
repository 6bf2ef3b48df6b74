import type { Queue } from 'bullmq'
import type { InboxState } from '../durable-inbox.ts'
import type { Envelope } from '../serialize.ts'
import { loadBullmq } from './packages.ts'
import type { OpenedQueue } from './queue.ts'
import { type DeliveryJob, STALLED_FIELD, toJobId, toState } from './schema.ts'

export async function retryJob({ queue, client }: OpenedQueue, id: string): Promise<boolean> {
  const found = await findJob(queue, id)
  if (found?.state === 'dead') {
    await client.hdel(queue.toKey(toJobId(id)), STALLED_FIELD)
    return isChanged(found.job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true }))
  }
  if (found?.type === 'delayed') return isChanged(found.job.promote())
  return found?.state === 'waiting'
}

export async function discardJob({ queue }: OpenedQueue, id: string): Promise<boolean> {
  const found = await findJob(queue, id)
  if (found?.state !== 'dead' && found?.state !== 'waiting') return false
  return isChanged(found.job.remove())
}

/** Removes at most `limit` jobs that ended at `before` or earlier. Resolves with the number of removed jobs. */
export async function purgeJobs(
  { queue }: OpenedQueue,
  state: 'done' | 'dead',
  before: number,
  limit: number,
): Promise<number> {
  const type = state === 'done' ? 'completed' : 'failed'
  return (await queue.clean(Date.now() - before, limit, type)).length
}

/** A job and its state. The job's data is not read, because bodies can be large. */
interface FoundJob {
  job: DeliveryJob
  state: InboxState
  /** BullMQ's job type. Several types, such as `delayed`, belong to the state `waiting`. */
  type: string
}

async function findJob(queue: Queue<Envelope>, id: string): Promise<FoundJob | undefined> {
  const { Job } = await loadBullmq()
  const jobId = toJobId(id)
  const type = await queue.getJobState(jobId)
  const state = toState(type)
  return state && { job: new Job(queue, 'delivery', {} as Envelope, {}, jobId), state, type }
}

/**
 * Resolves with false if the change fails because the job's state has changed in the meantime or a worker holds the
 * job.
 */
async function isChanged(change: Promise<unknown>): Promise<boolean> {
  try {
    await change
    return true
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string }
    if (typeof code === 'number' || message.includes('locked by another worker')) return false
    throw error
  }
}
