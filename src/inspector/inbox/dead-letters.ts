import type { DurableInbox } from '../../inbox/durable-inbox.ts'
import { toCursor } from '../../inbox/method-options.ts'
import { toHeadline } from './item.ts'

const PAGE_SIZE = 1_000
/** Maximum number of dead letters that one click retries. */
export const MAX_RETRIED = 10_000
/** Maximum number of concurrent retries. Each waits for a round trip to the server. */
const CONCURRENCY = 8
const MAX_ERRORS = 10

/** An error with the dead letters that have it. */
export interface DeadLetterError {
  error: string
  count: number
  /** When the first and the last of these deliveries became a dead letter. */
  first: Date
  last: Date
  /** Id of the last one. */
  id: string
}

/** Retries the oldest dead letters. Those that another process has just retried or removed do not count. */
export async function retryDeadLetters(inbox: DurableInbox): Promise<number> {
  const pending = (await listIds(inbox)).values()
  let retried = 0
  async function work(): Promise<void> {
    for (const id of pending) if (await inbox.retry(id)) retried++
  }
  // All calls share one iterator, so each id is retried once.
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  return retried
}

/** Reads all pages before it returns, because retrying dead letters in between would shift the pages. */
async function listIds(inbox: DurableInbox): Promise<string[]> {
  const ids = new Set<string>()
  let after: string | undefined
  for (let page = 0; page < MAX_RETRIED / PAGE_SIZE; page++) {
    const { entries, next } = await inbox.list({ state: 'dead', limit: PAGE_SIZE, after })
    for (const { id } of entries) ids.add(id)
    if (next === undefined) break
    after = next
  }
  return [...ids]
}

/**
 * Counts the errors of the newest 1,000 dead letters, the most frequent first.
 *
 * @param dead number of dead letters
 */
export async function countErrors(
  inbox: DurableInbox,
  dead: number,
): Promise<{ errors: DeadLetterError[]; read: number }> {
  if (dead === 0) return { errors: [], read: 0 }
  const after = toCursor(Math.max(0, dead - PAGE_SIZE))
  const { entries } = await inbox.list({ state: 'dead', limit: PAGE_SIZE, after })
  const errors = new Map<string, DeadLetterError>()
  for (const { id, error = 'no error text', endedAt, receivedAt } of entries) {
    const time = endedAt ?? receivedAt
    const headline = toHeadline(error)
    const known = errors.get(headline)
    if (!known) errors.set(headline, { error: headline, count: 1, first: time, last: time, id })
    else {
      known.count++
      if (time < known.first) known.first = time
      if (time >= known.last) Object.assign(known, { last: time, id })
    }
  }
  const sorted = [...errors.values()].sort((a, b) => b.count - a.count)
  return { errors: sorted.slice(0, MAX_ERRORS), read: entries.length }
}
