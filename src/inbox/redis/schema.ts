import type { Job, JobsOptions, JobType } from 'bullmq'
import type { Delivery } from '../../receiver/types.ts'
import type { InboxState } from '../durable-inbox.ts'
import type { Envelope } from '../serialize.ts'

/** A BullMQ job that holds a delivery. */
export type DeliveryJob = Job<Envelope>

/**
 * Number of attempts that is set in BullMQ. It is the maximum of our `attempts` option; the worker enforces the
 * option's actual value.
 */
const MAX_ATTEMPTS = 1_000

/**
 * Derives the id of a job from its delivery's id, so that a delivery never has two jobs. BullMQ rejects job ids that
 * are numbers or contain colons. The prefix also keeps job ids from colliding with BullMQ's own keys.
 */
export const toJobId = (id: string): string =>
  `delivery-${id.replace(/[%:]/g, (character) => (character === ':' ? '%3a' : '%25'))}`

export const fromJobId = (jobId: string): string =>
  jobId.replace(/^delivery-/, '').replace(/%3a|%25/g, (code) => (code === '%3a' ? ':' : '%'))

export const toJobOptions = (delivery: Delivery): JobsOptions & { jobId: string } => ({
  jobId: toJobId(delivery.id),
  timestamp: delivery.receivedAt.getTime(),
  attempts: MAX_ATTEMPTS,
  backoff: { type: 'geohook' },
  stackTraceLimit: 0,
})

/** BullMQ's job types for each state, in the order in which a list of all states returns them. */
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

/**
 * Field that we add to a job's hash. It contains the {@link EntryHead}, so that an entry can be read without the body.
 */
export const ENTRY_FIELD = 'geohook'

/** BullMQ's field for the data of a job. A hash without it is not a job. */
export const DATA_FIELD = 'data'

/** BullMQ's field for the number of ended attempts. */
export const ATTEMPTS_FIELD = 'atm'

/** BullMQ's field for the number of times that workers took the job. */
export const STARTS_FIELD = 'ats'

/** BullMQ's field for the number of expired leases. */
export const STALLED_FIELD = 'stc'

/** Fields of a job's hash that an entry is built from. */
export const ENTRY_FIELDS: readonly string[] = [
  ENTRY_FIELD,
  'timestamp',
  ATTEMPTS_FIELD,
  STALLED_FIELD,
  'finishedOn',
  'failedReason',
]

/** The members of a delivery that an entry needs. */
export interface EntryHead {
  id: string
  changeTypes: readonly string[]
  size: number
}

export function toEntryHead({ id, changeTypes, rawBody }: Delivery): string {
  const head: EntryHead = { id, changeTypes, size: rawBody.length }
  return JSON.stringify(head)
}
