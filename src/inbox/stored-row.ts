import type { InboxEntry, InboxState } from './durable-inbox.ts'
import type { Announcement, TakenDelivery, UnhandledEntry } from './engine-port.ts'
import { fromHead, toAsciiJson } from './serialize.ts'

/** The states of a task as stored: the index is the number in the column `state`. */
export const STATES: readonly InboxState[] = ['waiting', 'active', 'done', 'dead', 'unhandled']

/** The number in the column `state`. */
export const stateNumber = (state: InboxState): number => STATES.indexOf(state)

/** Calls a function for each state. */
export const forEachState = (count: (state: InboxState) => number): Record<InboxState, number> =>
  Object.fromEntries(STATES.map((state) => [state, count(state)])) as Record<InboxState, number>

/** A delivery and its task as SQLite and PostgreSQL return them. Times are in milliseconds since 1970. */
export interface StoredRow {
  seq: number
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
}

/** A row with the content of its delivery. */
export interface StoredContent {
  id: string
  types: string
  received: number
  /** Null if the content is missing, because it was removed to free space or the file is damaged. */
  head: string | null
  body: Uint8Array | null
}

export function toEntry({ id, state, due, attempts, errors, received, size, types }: StoredRow): InboxEntry {
  const name = STATES[state] ?? 'dead'
  const error = readErrors(errors).at(-1)
  return {
    id,
    state: name,
    attempts,
    changeTypes: readStrings(types),
    size,
    receivedAt: new Date(received),
    ...(name === 'waiting' && { dueAt: new Date(due) }),
    ...(name !== 'waiting' && name !== 'active' && { endedAt: new Date(due) }),
    ...(error !== undefined && { error }),
  }
}

/** Reads a row of the table of workers. */
export const readAnnouncement = ({ id, types }: { id: string; types: string | null }): Announcement => ({
  id,
  changeTypes: types === null ? undefined : readStrings(types),
})

/** Reads a row of an unhandled delivery. */
export const readUnhandled = ({ types, ...entry }: UnhandledRow): UnhandledEntry => ({
  ...entry,
  changeTypes: readStrings(types),
})

export type UnhandledRow = Omit<UnhandledEntry, 'changeTypes'> & { types: string }

/** Stores the error of an attempt. */
export const toErrors = (error: string): string => toAsciiJson([{ error }])

function readErrors(text: string | null): string[] {
  try {
    return (JSON.parse(text ?? '[]') as { error: unknown }[]).map(({ error }) => String(error))
  } catch {
    return [] // the row is damaged
  }
}

/** Reads the column `types`. */
export function readStrings(text: string): string[] {
  try {
    const strings: unknown = JSON.parse(text)
    return Array.isArray(strings) ? strings.map(String) : []
  } catch {
    return [] // the row is damaged
  }
}

/**
 * Restores a delivery. If the row is damaged, the result is what is left of it: the id, the time of receipt and, if the
 * body is intact, the body.
 */
export function readDelivery({
  id,
  types,
  received,
  head,
  body,
}: StoredContent): Pick<TakenDelivery, 'delivery' | 'changeTypes' | 'damage'> {
  const changeTypes = readStrings(types)
  const isBody = body instanceof Uint8Array
  // Convert the Buffer that some drivers return: the slice() of a Buffer does not copy.
  const rawBody = isBody ? new Uint8Array(body.buffer, body.byteOffset, body.length) : new Uint8Array()
  try {
    if (head === null || !isBody) throw new Error('its bytes are missing')
    return { delivery: fromHead(head, id, rawBody, received), changeTypes }
  } catch (error) {
    const rest = { contentType: '', headers: {}, profile: '' }
    const damage = new Error(`it cannot be read from the store: ${String(error)}`)
    return { delivery: { id, rawBody, receivedAt: new Date(received), ...rest }, changeTypes, damage }
  }
}
