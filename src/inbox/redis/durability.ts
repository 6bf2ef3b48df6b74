import type { Redis } from 'ioredis'
import { warn } from '../../receiver/log.ts'

/**
 * Emits a warning for each setting of the Redis server that risks the loss of deliveries, once per process.
 *
 * @returns false if the server does not allow INFO
 */
export async function checkDurability(client: Redis): Promise<boolean> {
  const info = await client.info().catch((error: Error) => {
    // The user may not call INFO. Any other error is thrown.
    if (/NOPERM/.test(error.message)) return undefined
    throw error
  })
  if (info === undefined) return false
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  if (/^aof_enabled:0/m.test(info))
    warnOnce('Redis has no append-only file: a crash of the server loses deliveries. Set appendonly to yes.')
  if (policy !== undefined && policy !== 'noeviction')
    warnOnce(`Redis may evict deliveries (${policy}). Set maxmemory-policy to noeviction.`)
  return true
}

const warned = new Set<string>()

/** Emits each warning only once, because many inboxes may use the same server. */
function warnOnce(text: string): void {
  if (!warned.has(text)) warn(text, 'inbox_not_durable')
  warned.add(text)
}
