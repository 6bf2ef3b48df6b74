import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { InboxState } from '../inbox.ts'
import type { Envelope } from '../stored.ts'
import { lookAtDurability } from './durability.ts'
import { type DeliveryJob, JOB_TYPES, toJobId, toState } from './jobs.ts'
import { loadBullmq } from './packages.ts'

/** BullMQ's queue, and the connection beneath it. */
export interface OpenedQueue {
  queue: Queue<Envelope>
  client: Redis
  /** Whether the server answers INFO. */
  saysInfo: boolean
}

export async function openQueue(client: Redis, name: string, prefix: string): Promise<OpenedQueue> {
  const { Queue } = await loadBullmq()
  const saysInfo = await lookAtDurability(client)
  const queue = new Queue<Envelope>(name, { connection: client, prefix, skipVersionCheck: !saysInfo })
  queue.on('error', () => {}) // the connection tells it
  await queue.waitUntilReady()
  return { queue, client, saysInfo }
}

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

/** A job that can be moved, and where it is. What it holds is not read: bodies can be large. */
export interface FoundJob {
  job: DeliveryJob
  state: InboxState
  /** BullMQ's name for the state: a job that waits can be delayed. */
  type: string
}

export async function findJob(queue: Queue<Envelope>, id: string): Promise<FoundJob | undefined> {
  const { Job } = await loadBullmq()
  const jobId = toJobId(id)
  const type = await queue.getJobState(jobId)
  const state = toState(type)
  return state && { job: new Job(queue, 'delivery', {} as Envelope, {}, jobId), state, type }
}

/** False where the job has moved on since it was looked at, or a worker has it. */
export async function isChanged(change: Promise<unknown>): Promise<boolean> {
  try {
    await change
    return true
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string }
    if (typeof code === 'number' || message.includes('locked by another worker')) return false
    throw error
  }
}
