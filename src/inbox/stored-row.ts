import type { StoredDelivery } from '../receiver/types.ts'
import { tryJson } from '../shared/json.ts'
import type { FailedAttempt, InboxEntry, InboxItem, InboxState } from './durable-inbox.ts'
import type { Announcement, AttemptEnd, TakenDelivery, TaskKey, UnhandledEntry } from './engine-port.ts'
import { toErrorKind } from './error-text.ts'
import { fromHead, toAsciiJson, toAsciiText } from './serialize.ts'

/**
 * The states of a task as stored: the index is the number in the column `state`. The inspector's cursors have them in
 * this order, too.
 */
export const STATES: readonly InboxState[] = ['waiting', 'active', 'done', 'dead', 'unhandled']

/** The number of a sixth state in the column `state`, which users see as waiting: held until an earlier task has ended. */
export const HELD = 5

export const stateNumber = (state: InboxState): number => STATES.indexOf(state)

export const readState = (state: number): InboxState =>
  state === HELD ? 'waiting' : (STATES[state] ?? 'dead')

/** The numbers in the column `state`, with {@link HELD}. Without a state, those of all states. */
export const stateNumbers = (state?: InboxState): number[] =>
  [...STATES.keys(), HELD].filter((number) => !state || readState(number) === state)

export const forEachState = <T>(create: (state: InboxState) => T): Record<InboxState, T> =>
  Object.fromEntries(STATES.map((state) => [state, create(state)])) as Record<InboxState, T>

/** A delivery and its task as SQLite and PostgreSQL return them. Times are in milliseconds since 1970. */
export interface StoredRow extends TaskKey {
  id: string
  state: number
  /** Due time (waiting), expiry of the lease (active) or end time (ended). */
  due: number
  attempts: number
  /** JSON array of errors, as {@link toErrors} creates it. */
  errors: string | null
  received: number
  size: number
  /** JSON array of change types. */
  types: string
  service: string | null
  started: number | null
  owner: string | null
  passed: boolean | number
}

/** A row with the content of its delivery. */
export interface StoredContent {
  id: string
  types: string
  received: number
  errors: string | null
  /** Null if the content is missing, because it was removed to free space or the file is damaged. */
  head: string | null
  body: Uint8Array | null
}

export const toEntry = ({ state, errors, types, passed, ...row }: StoredRow): InboxEntry =>
  describeRow({
    ...row,
    state: readState(state),
    isHeld: state === HELD,
    isPassed: Boolean(passed),
    errors: readErrors(errors),
    changeTypes: readStrings(types),
  })

/** A row whose columns have been read. */
export interface ReadRow extends Omit<StoredRow, 'seq' | 'state' | 'errors' | 'types' | 'passed'> {
  state: InboxState
  isHeld: boolean
  isPassed: boolean
  errors: readonly FailedAttempt[]
  changeTypes: readonly string[]
}

/** Creates the entry that users see. */
export function describeRow(row: ReadRow): InboxEntry {
  const { id, handler, state, due, attempts, received, size, service, started, owner, errors } = row
  const last = errors.at(-1)
  const time = state === 'waiting' ? 'dueAt' : state === 'active' ? 'leaseEndsAt' : 'endedAt'
  return {
    id,
    ...(handler !== '' && { handler }),
    state,
    attempts,
    changeTypes: [...row.changeTypes],
    size,
    receivedAt: new Date(received),
    ...(service !== null && { service }),
    ...(started !== null && { startedAt: new Date(started) }),
    ...(owner !== null && { worker: owner }),
    ...(row.isHeld ? { held: true as const } : { [time]: new Date(due) }),
    ...(row.isPassed && { passed: true as const }),
    ...(last && { error: last.error, errors: [...errors] }),
  }
}

/** A key before the first page. */
export const firstKey = (order: 'oldest' | 'newest'): TaskKey => ({
  seq: order === 'oldest' ? 0 : Number.MAX_SAFE_INTEGER,
  handler: '',
})

/** The states from the worst to the best. */
const WORST: readonly InboxState[] = ['dead', 'unhandled', 'waiting', 'active', 'done']

/** Joins the fates of a delivery: those of handlers without a name come first. */
export function toItem(
  fates: readonly InboxEntry[],
  readContent: () => StoredDelivery,
): InboxItem | undefined {
  const [worst] = WORST.flatMap((state) => fates.find((fate) => fate.state === state) ?? [])
  return worst && { ...worst, fates: [...fates], delivery: readContent() }
}

export interface WorkerRow {
  id: string
  types: string | null
  names: string | null
}

export const readAnnouncement = ({ id, types, names }: WorkerRow): Announcement => ({
  id,
  changeTypes: types === null ? undefined : readStrings(types),
  names: readNames(names ?? '[]'),
})

function readNames(text: string): Map<string, string[]> {
  try {
    const names = JSON.parse(text) as [unknown, unknown[]][]
    return new Map(names.map(([name, types]) => [String(name), types.map(String)]))
  } catch {
    return new Map() // the row is damaged
  }
}

/** Returns the columns `types` and `names` of a worker. */
export const toWorkerColumns = ({ changeTypes, names }: Announcement): (string | null)[] => [
  changeTypes ? toAsciiJson(changeTypes) : null,
  names.size > 0 ? toAsciiJson([...names]) : null,
]

export const readUnhandled = ({ types, routed, ...entry }: UnhandledRow): UnhandledEntry => ({
  ...entry,
  isRouted: Boolean(routed),
  changeTypes: readStrings(types),
})

export type UnhandledRow = Omit<UnhandledEntry, 'changeTypes' | 'isRouted'> & {
  types: string
  routed: boolean | number
}

/** Maximum number of failed attempts that are stored, and characters of each error but the last one. */
const [MAX_ERRORS, MAX_EARLIER] = [10, 500]

/** Adds a failed attempt to the stored ones. */
export const addError = (errors: readonly FailedAttempt[], error: FailedAttempt): FailedAttempt[] => [
  ...errors.slice(1 - MAX_ERRORS).map((one) => ({ ...one, error: one.error.slice(0, MAX_EARLIER) })),
  error,
]

export const toErrors = (errors: readonly FailedAttempt[]): string =>
  toAsciiJson(errors.map(({ error, attempt, at }) => ({ error, attempt, at: at?.getTime() })))

/** The column `error_kind` after an attempt; null keeps it. */
export const toKind = (end: AttemptEnd): string | null =>
  'errors' in end ? toAsciiText(toErrorKind(end.errors.at(-1)?.error ?? '')) : null

export function readErrors(text: string | null): FailedAttempt[] {
  try {
    const errors = JSON.parse(text ?? '[]') as { error: unknown; attempt?: unknown; at?: unknown }[]
    return errors.map(({ error, attempt, at }) => ({
      error: String(error),
      ...(typeof attempt === 'number' && { attempt }),
      ...(typeof at === 'number' && { at: new Date(at) }),
    }))
  } catch {
    return [] // the row is damaged
  }
}

/** Reads the column `types`. */
export function readStrings(text: string): string[] {
  const strings = tryJson(text) // the row can be damaged
  return Array.isArray(strings) ? strings.map(String) : []
}

/**
 * Restores a delivery. If the row is damaged, the result is what is left of it: the id, the time of receipt and, if the
 * body is intact, the body.
 */
export function readDelivery({
  id,
  types,
  received,
  errors: failed,
  head,
  body,
}: StoredContent): Pick<TakenDelivery, 'delivery' | 'changeTypes' | 'errors' | 'damage'> {
  const [changeTypes, errors] = [readStrings(types), readErrors(failed)]
  const isBody = body instanceof Uint8Array
  // Convert the Buffer that some drivers return: the slice() of a Buffer does not copy.
  const rawBody = isBody ? new Uint8Array(body.buffer, body.byteOffset, body.length) : new Uint8Array()
  try {
    if (head === null || !isBody) throw new Error('its bytes are missing')
    return { delivery: fromHead(head, id, rawBody, received), changeTypes, errors }
  } catch (error) {
    const rest = { contentType: '', headers: {}, profile: '' }
    const damage = new Error(`it cannot be read from the store: ${String(error)}`)
    return { delivery: { id, rawBody, receivedAt: new Date(received), ...rest }, changeTypes, errors, damage }
  }
}
