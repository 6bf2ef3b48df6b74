import type { Redis } from 'ioredis'
import { warn } from '../../receiver/log.ts'

/**
 * Says, once in a process, where Redis would lose deliveries.
 *
 * @returns whether the server says anything about itself: INFO can be forbidden
 */
export async function lookAtDurability(client: Redis): Promise<boolean> {
  const info = await client.info().catch((error: Error) => {
    if (/NOPERM|unknown command/i.test(error.message)) return undefined
    throw error
  })
  if (info === undefined) return false
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  if (/^aof_enabled:0/m.test(info))
    warnOnce('Redis has no append-only file: deliveries are lost with it. Set appendonly to yes.')
  if (policy !== undefined && policy !== 'noeviction')
    warnOnce(`Redis may evict deliveries (${policy}). Set maxmemory-policy to noeviction.`)
  return true
}

const said = new Set<string>()

/** Inboxes can be many, and servers few. */
function warnOnce(text: string): void {
  if (!said.has(text)) warn(text, 'inbox_not_durable')
  said.add(text)
}
