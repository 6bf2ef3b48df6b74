import type { JobType, Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { InboxEntry } from '../inbox.ts'
import type { Listing } from '../options.ts'
import type { Envelope } from '../stored.ts'
import { type DeliveryJob, JOB_TYPES, toEntry, toState } from './jobs.ts'

/** Jobs that are read in one go: each comes with its body. */
const AT_ONCE = 50

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
      const end = Math.min(count, at + AT_ONCE, at + limit + 1 - entries.length)
      const jobs = await queue.getJobs([type], at, end - 1, true)
      for (const job of jobs) entries.push(await entryOf(queue, client, job, type))
      at = end
    }
  }
  const page = entries.slice(0, limit).sort((a, b) => +a.receivedAt - +b.receivedAt)
  return [...page, ...entries.slice(limit)]
}

/** @param type what BullMQ calls the state of the job */
export async function entryOf(
  queue: Queue<Envelope>,
  client: Redis,
  job: DeliveryJob,
  type: string,
): Promise<InboxEntry> {
  const score = type === 'delayed' ? await client.zscore(queue.toKey('delayed'), job.id ?? '') : null
  // The lower twelve bits keep those in order that are due at the same time.
  const dueAt = score === null ? undefined : Math.floor(Number(score) / 0x1000)
  return toEntry(job, toState(type) ?? 'waiting', dueAt)
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
