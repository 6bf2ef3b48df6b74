import type { JobType, Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { InboxEntry, InboxItem, InboxState } from '../durable-inbox.ts'
import type { ListQuery } from '../method-options.ts'
import type { Envelope } from '../serialize.ts'
import { readDelivery, toEntry } from './decode.ts'
import type { OpenedQueue } from './queue.ts'
import { DATA_FIELD, ENTRY_FIELDS, JOB_TYPES, toJobId, toState } from './schema.ts'

/** Maximum number of delayed jobs to read when searching for the one that was received first. */
const MAX_DELAYED_READ = 1_000

export async function countJobs(queue: Queue<Envelope>): Promise<Record<InboxState, number>> {
  const result = { waiting: 0, active: 0, done: 0, dead: 0 }
  const counts = await queue.getJobCounts(...Object.values(JOB_TYPES).flat())
  for (const [type, count] of Object.entries(counts)) result[toState(type) ?? 'waiting'] += count
  return result
}

export async function countPending(queue: Queue<Envelope>): Promise<number> {
  const { waiting, active } = await countJobs(queue)
  return waiting + active
}

/**
 * Lists entries by job type, because BullMQ keeps one list per job type, ordered by end time or due time. Entries are
 * sorted by time of receipt only within a page.
 *
 * @returns `limit` + 1 entries, if there are that many
 */
export async function listEntries(
  { queue, client }: OpenedQueue,
  { state, limit, offset }: ListQuery,
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
 * Reads an entry without its body.
 *
 * @param type BullMQ's type of the job
 */
async function readEntry(
  queue: Queue<Envelope>,
  client: Redis,
  jobId: string,
  type: string,
): Promise<InboxEntry | undefined> {
  const [values, score] = await Promise.all([
    client.hmget(queue.toKey(jobId), ...ENTRY_FIELDS),
    type === 'delayed' ? client.zscore(queue.toKey('delayed'), jobId) : null,
  ])
  // BullMQ uses the lower twelve bits of the score to order jobs that are due at the same time.
  const dueAt = score === null ? undefined : Math.floor(Number(score) / 0x1000)
  return toEntry(jobId, values, toState(type) ?? 'waiting', dueAt)
}

export async function readItem({ queue, client }: OpenedQueue, id: string): Promise<InboxItem | undefined> {
  const jobId = toJobId(id)
  for (;;) {
    const type = await queue.getJobState(jobId)
    if (type === 'unknown') return undefined
    const [entry, data] = await Promise.all([
      readEntry(queue, client, jobId, type),
      client.hget(queue.toKey(jobId), DATA_FIELD),
    ])
    // If the job was moved during these reads, the entry may be inconsistent: read it again.
    if ((await queue.getJobState(jobId)) !== type) continue
    return entry && { ...entry, delivery: readDelivery(() => JSON.parse(data ?? 'null')) }
  }
}

/**
 * Returns the time of receipt of the oldest waiting delivery. Reads only the first `MAX_DELAYED_READ` delayed jobs.
 */
export async function oldestWaiting({ queue, client }: OpenedQueue): Promise<Date | undefined> {
  const ids = [
    ...(await client.lrange(queue.toKey('wait'), -1, -1)),
    ...(await client.zrange(queue.toKey('prioritized'), '0', '0')),
    ...(await client.zrange(queue.toKey('delayed'), '0', `${MAX_DELAYED_READ - 1}`)),
  ]
  const times = await Promise.all(ids.map((id) => client.hget(queue.toKey(id), 'timestamp')))
  const oldest = Math.min(...times.flatMap((time) => (time === null ? [] : Number(time))))
  return Number.isFinite(oldest) ? new Date(oldest) : undefined
}
