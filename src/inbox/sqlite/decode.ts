import type { StoredDelivery } from '../../receiver/types.ts'
import type { InboxEntry, InboxState } from '../durable-inbox.ts'
import { fromHead } from '../serialize.ts'

/** A row of the table `delivery`. */
export interface Row {
  seq: number
  id: string
  state: InboxState
  at: number
  attempts: number
  error: string | null
  received_at: number
  size: number
  change_types: string
}

/** A row joined with its `content`. */
export interface RowWithContent extends Row {
  /** Null if the content is missing, because it was removed to free space or the file is damaged. */
  head: string | null
  body: Uint8Array | null
}

/** @throws if the row is damaged */
export function toDelivery({ head, id, body, received_at }: RowWithContent): StoredDelivery {
  if (head === null || !(body instanceof Uint8Array)) throw new Error('its bytes are missing')
  // Convert the Buffer that better-sqlite3 returns: the slice() of a Buffer does not copy.
  return fromHead(head, id, new Uint8Array(body.buffer, body.byteOffset, body.length), received_at)
}

/**
 * Restores a delivery. If the row is damaged, the result has only the delivery's id, its time of receipt and, if the
 * body is intact, the body.
 */
export function toDeliveryOrRemains(row: RowWithContent): StoredDelivery {
  try {
    return toDelivery(row)
  } catch {
    const empty = JSON.stringify({ contentType: '', headers: {}, profile: '' })
    const body = row.body instanceof Uint8Array ? row.body : new Uint8Array()
    return toDelivery({ ...row, head: empty, body })
  }
}

export function toEntry({
  id,
  state,
  attempts,
  change_types,
  size,
  received_at,
  at,
  error,
}: Row): InboxEntry {
  return {
    id,
    state,
    attempts,
    changeTypes: toChangeTypes(change_types),
    size,
    receivedAt: new Date(received_at),
    ...(state === 'waiting' && { dueAt: new Date(at) }),
    ...((state === 'done' || state === 'dead') && { endedAt: new Date(at) }),
    ...(error !== null && { error }),
  }
}

function toChangeTypes(text: string): string[] {
  try {
    const types: unknown = JSON.parse(text)
    return Array.isArray(types) ? types.map(String) : []
  } catch {
    return [] // the row is damaged
  }
}
