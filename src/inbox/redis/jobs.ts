import type { Job, JobsOptions, JobType } from 'bullmq'
import type { Delivery } from '../../receiver/delivery.ts'
import type { InboxEntry, InboxState } from '../inbox.ts'
import type { Envelope } from '../stored.ts'

/** A delivery in the queue. */
export type DeliveryJob = Job<Envelope>

/** BullMQ's own limit is above that of every worker: how many attempts there are is the worker's to say. */
const MOST_ATTEMPTS = 1_000

/**
 * Its job has the delivery's id, so there is never a second one. BullMQ refuses numbers and colons, and keeps keys of
 * its own beside the jobs.
 */
export const toJobId = (id: string): string =>
  `delivery-${id.replace(/[%:]/g, (character) => (character === ':' ? '%3a' : '%25'))}`

export const toJobOptions = (delivery: Delivery): JobsOptions => ({
  jobId: toJobId(delivery.id),
  timestamp: delivery.receivedAt.getTime(),
  attempts: MOST_ATTEMPTS,
  backoff: { type: 'geohook' },
  stackTraceLimit: 0,
})

/** BullMQ's names for a state, those that come to an end first in front. */
export const JOB_TYPES: Record<InboxState, JobType[]> = {
  done: ['completed'],
  dead: ['failed'],
  active: ['active'],
  waiting: ['waiting', 'prioritized', 'delayed'],
}

export function toState(type: string): InboxState | undefined {
  if (type === 'unknown') return undefined
  if (type === 'completed') return 'done'
  if (type === 'failed') return 'dead'
  return type === 'active' ? 'active' : 'waiting'
}

/** @param dueAt of a job that is delayed, milliseconds since 1970 */
export function toEntry(job: DeliveryJob, state: InboxState, dueAt: number = job.timestamp): InboxEntry {
  const { id, changeTypes, size, receivedAt } = job.data
  return {
    id,
    state,
    attempts: job.attemptsStarted,
    changeTypes,
    size,
    receivedAt: new Date(receivedAt),
    ...(state === 'waiting' && { dueAt: new Date(dueAt) }),
    ...((state === 'done' || state === 'dead') && job.finishedOn && { endedAt: new Date(job.finishedOn) }),
    ...(job.failedReason && { error: job.failedReason }),
  }
}
