import type { StoredDelivery } from '../../receiver/types.ts'
import type { InboxEntry, InboxState } from '../durable-inbox.ts'
import { type Envelope, fromEnvelope } from '../serialize.ts'
import { type EntryHead, fromJobId } from './schema.ts'

/**
 * Builds an entry, even if the job's data is damaged.
 *
 * @param values values of `ENTRY_FIELDS`
 * @param dueAt due time of a delayed job, in milliseconds since 1970
 * @returns `undefined` if the job no longer exists
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
    // BullMQ counts an attempt when it ends. Only the attempt of a suspect is already counted when it begins.
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

/** @throws if other programs changed the stored data or added the job */
export function readDelivery(readData: () => Envelope): StoredDelivery {
  try {
    return fromEnvelope(readData())
  } catch (cause) {
    throw new Error('the stored delivery cannot be read', { cause })
  }
}
