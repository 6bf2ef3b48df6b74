import type { IRedisTransaction, Queue } from 'bullmq'
import type { ChainableCommander } from 'ioredis'
import type { Delivery } from '../../receiver/delivery.ts'
import { type Envelope, toEnvelope } from '../stored.ts'
import { ENTRY_FIELD, toEntryHead, toJobOptions } from './jobs.ts'
import { loadBullmq } from './packages.ts'

interface Wrapping {
  client: Promise<{ multi(): IRedisTransaction }>
}

/**
 * Adds a delivery where it is not there yet, in whatever state. BullMQ leaves a job alone that is there, but does not
 * say so; in one transaction it can be asked for right before.
 */
export async function addJob(queue: Queue<Envelope>, delivery: Delivery): Promise<'stored' | 'duplicate'> {
  const { Job } = await loadBullmq()
  const { jobId = '', ...options } = toJobOptions(delivery)
  const job = new Job(queue, 'delivery', toEnvelope(delivery), { ...options, jobId }, jobId)
  // Scripts want the client as BullMQ has wrapped it; BullMQ 5 has no backend. Its type has fewer commands than it.
  const { client } = 'getBackend' in queue ? queue.getBackend() : (queue as Wrapping)
  const transaction = (await client).multi() as IRedisTransaction & ChainableCommander
  transaction.exists(queue.toKey(jobId))
  await job.addJob(transaction)
  transaction.hsetnx(queue.toKey(jobId), ENTRY_FIELD, toEntryHead(delivery))
  const results = (await transaction.exec()) ?? []
  for (const [error] of results) if (error) throw error
  if (results.length !== 3) throw new Error('Redis did not say whether the delivery is stored')
  return results[0]?.[1] === 0 ? 'stored' : 'duplicate'
}
