import type { JobWithMetadata } from 'pg-boss'
import type { StoredDelivery } from '../../receiver/types.ts'
import type { InboxEntry, InboxState } from '../durable-inbox.ts'
import { type Envelope, fromEnvelope } from '../serialize.ts'
import { JOB_STATES, toId } from './schema.ts'

/**
 * One job without its body. Columns read from the job's `data` may hold any value, because other programs can write to
 * the table.
 */
export interface Row {
  id: string
  state: JobWithMetadata['state']
  retryCount: number
  startAfter: Date
  startedOn: Date | null
  completedOn: Date | null
  createdOn: Date
  output: { error?: string; value?: { message?: string } } | null
  changeTypes: string | null
  size: string | null
  receivedAt: string | null
}

/** Columns of a {@link Row}. */
export const COLUMNS = `id, state, retry_count as "retryCount", start_after as "startAfter", started_on as "startedOn",
  completed_on as "completedOn", created_on as "createdOn", output, data->>'changeTypes' as "changeTypes",
  data->>'size' as size, data->>'receivedAt' as "receivedAt"`

export function toEntry(row: Row): InboxEntry {
  const { id, state: jobState, retryCount, startAfter, startedOn, completedOn, output } = row
  const state = toInboxState(jobState)
  // pg-boss stores the errors that it detects itself in `value`, for example after a process has crashed.
  const error = output?.error ?? output?.value?.message
  return {
    id: toId(id),
    state,
    attempts: startedOn ? retryCount + 1 : 0,
    changeTypes: readChangeTypes(row.changeTypes),
    size: readNumberOr(row.size, 0),
    receivedAt: receivedAtOf(row),
    ...(state === 'waiting' && { dueAt: startAfter }),
    ...(completedOn && { endedAt: completedOn }),
    ...(error && { error }),
  }
}

const toInboxState = (jobState: Row['state']): InboxState =>
  (Object.keys(JOB_STATES) as InboxState[]).find((state) => JOB_STATES[state].includes(jobState)) ?? 'dead'

export const receivedAtOf = ({ receivedAt, createdOn }: Pick<Row, 'receivedAt' | 'createdOn'>): Date =>
  new Date(readNumberOr(receivedAt, createdOn.getTime()))

/** Placeholder for a delivery that cannot be read. */
export const UNREADABLE: Omit<StoredDelivery, 'id' | 'receivedAt'> = {
  rawBody: new Uint8Array(),
  contentType: '',
  headers: {},
  profile: '',
}

/** Restores the delivery of a job. Returns `undefined` if the data is not a delivery. */
export function readDelivery(id: string, data: unknown): StoredDelivery | undefined {
  const envelope = data as Partial<Envelope> | null
  if (typeof envelope?.body !== 'string' || typeof envelope.receivedAt !== 'number') return undefined
  try {
    return fromEnvelope({ ...(envelope as Envelope), id })
  } catch {
    return undefined
  }
}

function readChangeTypes(text: string | null): string[] {
  try {
    const types: unknown = JSON.parse(text ?? '')
    return Array.isArray(types) ? types.filter((type) => typeof type === 'string') : []
  } catch {
    return []
  }
}

function readNumberOr(text: string | null, fallback: number): number {
  const number = Number(text ?? Number.NaN)
  return Number.isFinite(number) ? number : fallback
}
