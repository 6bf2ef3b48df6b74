import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Envelope } from '../serialize.ts'
import { checkDurability } from './durability.ts'
import { loadBullmq } from './packages.ts'

/** A BullMQ queue and its connection. */
export interface OpenedQueue {
  queue: Queue<Envelope>
  client: Redis
  /** True if the server allows INFO. */
  allowsInfo: boolean
}

export async function openQueue(client: Redis, name: string, prefix: string): Promise<OpenedQueue> {
  const { Queue } = await loadBullmq()
  const allowsInfo = await checkDurability(client)
  const queue = new Queue<Envelope>(name, { connection: client, prefix, skipVersionCheck: !allowsInfo })
  queue.on('error', () => {}) // ignored: the connection reports its errors
  await queue.waitUntilReady()
  return { queue, client, allowsInfo }
}
