import type { Job, JobsOptions, JobType } from 'bullmq'
import type { Delivery, StoredDelivery } from '../../receiver/delivery.ts'
import type { InboxEntry, InboxState } from '../inbox.ts'
import { type Envelope, fromEnvelope } from '../stored.ts'

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

const fromJobId = (jobId: string): string =>
  jobId.replace(/^delivery-/, '').replace(/%3a|%25/g, (code) => (code === '%3a' ? ':' : '%'))

export const toJobOptions = (delivery: Delivery): JobsOptions & { jobId: string } => ({
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

/** What a job's hash holds beside BullMQ's own fields: what an entry shows, so that it can be read without the body. */
export const ENTRY_FIELD = 'geohook'

/** BullMQ's own field for the data of a job: a hash without it is not a job. */
export const DATA_FIELD = 'data'

/** Where BullMQ counts in a job's hash the attempts that have ended. */
export const ATTEMPTS_FIELD = 'atm'

/** Where BullMQ counts in a job's hash how often its lease has run out. */
export const STALLED_FIELD = 'stc'

/** Fields of a job's hash that an entry is made of, the others by the names that BullMQ gives them there. */
export const ENTRY_FIELDS: readonly string[] = [
  ENTRY_FIELD,
  'timestamp',
  ATTEMPTS_FIELD,
  STALLED_FIELD,
  'finishedOn',
  'failedReason',
]

/** What an entry needs of a delivery. */
interface EntryHead {
  id: string
  changeTypes: readonly string[]
  size: number
}

export function toEntryHead({ id, changeTypes, rawBody }: Delivery): string {
  const head: EntryHead = { id, changeTypes, size: rawBody.length }
  return JSON.stringify(head)
}

/**
 * An entry, whatever has become of its job's data.
 *
 * @param values of {@link ENTRY_FIELDS}
 * @param dueAt of a job that is delayed, milliseconds since 1970
 * @returns undefined where there is no such job any more
 */
export function toEntry(
  jobId: string,
  [head, timestamp, attempts, stalled, finishedOn, error]: (string | null)[],
  state: InboxState,
  dueAt: number = Number(timestamp),
): InboxEntry | undefined {
  if (!timestamp) return undefined
  return {
    ...readEntryHead(head ?? '', jobId),
    state,
    // The attempt of a suspect was counted before it began.
    attempts: Number(attempts ?? 0) + Number(state === 'active' && !Number(stalled)),
    receivedAt: new Date(Number(timestamp)),
    ...(state === 'waiting' && { dueAt: new Date(dueAt) }),
    ...((state === 'done' || state === 'dead') && finishedOn && { endedAt: new Date(Number(finishedOn)) }),
    ...(error && { error }),
  }
}

function readEntryHead(text: string, jobId: string): EntryHead {
  try {
    const { id, changeTypes, size } = JSON.parse(text) as EntryHead
    return { id, changeTypes, size }
  } catch {
    return { id: fromJobId(jobId), changeTypes: [], size: 0 }
  }
}

/** @throws where somebody has changed what is stored, or something else has put a job of its own into the queue */
export function readDelivery(data: () => Envelope): StoredDelivery {
  try {
    return fromEnvelope(data())
  } catch (cause) {
    throw new Error('the stored delivery cannot be read', { cause })
  }
}
