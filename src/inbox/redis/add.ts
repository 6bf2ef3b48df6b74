import type { IRedisTransaction, Queue } from 'bullmq'
import type { ChainableCommander, Redis } from 'ioredis'
import type { Delivery } from '../../receiver/delivery.ts'
import { type Envelope, toEnvelope } from '../stored.ts'
import { toJobOptions } from './jobs.ts'
import { loadBullmq } from './packages.ts'

/**
 * Adds a delivery where it is not there yet, in whatever state. BullMQ leaves a job alone that is there, but does not
 * say so; in one transaction it can be asked for right before.
 */
export async function addJob(
  queue: Queue<Envelope>,
  client: Redis,
  delivery: Delivery,
): Promise<'stored' | 'duplicate'> {
  const { Job } = await loadBullmq()
  const { jobId = '', ...options } = toJobOptions(delivery)
  const job = new Job(queue, 'delivery', toEnvelope(delivery), { ...options, jobId }, jobId)
  // From BullMQ 6 on, scripts want the client as BullMQ has wrapped it. Its type has fewer commands than it.
  const wrapped = 'getBackend' in queue ? await queue.getBackend().client : client
  const transaction = wrapped.multi() as IRedisTransaction & ChainableCommander
  transaction.exists(queue.toKey(jobId))
  await job.addJob(transaction)
  const results = (await transaction.exec()) ?? []
  for (const [error] of results) if (error) throw error
  if (results.length !== 2) throw new Error('Redis did not say whether the delivery is stored')
  return results[0]?.[1] === 0 ? 'stored' : 'duplicate'
}
