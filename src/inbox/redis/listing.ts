import type { JobType, Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { InboxEntry } from '../inbox.ts'
import type { Listing } from '../options.ts'
import type { Envelope } from '../stored.ts'
import { ENTRY_FIELDS, JOB_TYPES, toEntry, toState } from './jobs.ts'

/** How many of the delayed are looked through for the one that was received first. */
const LOOKED_THROUGH = 1_000

/**
 * BullMQ keeps the order in which jobs ended, or are due, in a list for each type. So the entries come type by type,
 * and each page in the order of reception.
 *
 * @returns one more than `limit`, where there are so many
 */
export async function listEntries(
  queue: Queue<Envelope>,
  client: Redis,
  { state, limit, offset }: Listing,
): Promise<InboxEntry[]> {
  const types = state ? JOB_TYPES[state] : Object.values(JOB_TYPES).flat()
  const counts = Object.entries(await queue.getJobCounts(...types)) as [JobType, number][]
  const entries: InboxEntry[] = []
  let skipped = offset
  for (const [type, count] of counts) {
    let at = Math.min(skipped, count)
    skipped -= at
    while (at < count && entries.length <= limit) {
      const end = Math.min(count, at + limit + 1 - entries.length)
      const ids = await queue.getRanges([type], at, end - 1, true)
      const found = await Promise.all(ids.map((id) => readEntry(queue, client, id, type)))
      entries.push(...found.filter((entry) => entry !== undefined))
      at = end
    }
  }
  const page = entries.slice(0, limit).sort((a, b) => +a.receivedAt - +b.receivedAt)
  return [...page, ...entries.slice(limit)]
}

/**
 * Reads an entry, and not the body.
 *
 * @param type what BullMQ calls the state of the job
 */
export async function readEntry(
  queue: Queue<Envelope>,
  client: Redis,
  jobId: string,
  type: string,
): Promise<InboxEntry | undefined> {
  const [values, score] = await Promise.all([
    client.hmget(queue.toKey(jobId), ...ENTRY_FIELDS),
    type === 'delayed' ? client.zscore(queue.toKey('delayed'), jobId) : null,
  ])
  // The lower twelve bits keep those in order that are due at the same time.
  const dueAt = score === null ? undefined : Math.floor(Number(score) / 0x1000)
  return toEntry(jobId, values, toState(type) ?? 'waiting', dueAt)
}

/** When the one was received that has waited longest; among very many that are delayed, of those that are due first. */
export async function oldestWaiting(queue: Queue<Envelope>, client: Redis): Promise<Date | undefined> {
  const ids = [
    ...(await client.lrange(queue.toKey('wait'), -1, -1)),
    ...(await client.zrange(queue.toKey('prioritized'), '0', '0')),
    ...(await client.zrange(queue.toKey('delayed'), '0', `${LOOKED_THROUGH - 1}`)),
  ]
  const times = await Promise.all(ids.map((id) => client.hget(queue.toKey(id), 'timestamp')))
  const oldest = Math.min(...times.flatMap((time) => (time === null ? [] : Number(time))))
  return Number.isFinite(oldest) ? new Date(oldest) : undefined
}
