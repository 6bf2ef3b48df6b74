import { Redis } from 'ioredis'

/** Removes only the keys with this prefix, because other programs may use the same server. */
export async function removePrefix(url: string, prefix: string): Promise<void> {
  const client = new Redis(url)
  try {
    for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 1_000 }))
      if (keys.length > 0) await client.unlink(...keys)
  } finally {
    client.disconnect()
  }
}
