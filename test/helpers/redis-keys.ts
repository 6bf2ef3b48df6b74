import { Redis } from 'ioredis'

/** Removes the keys of a test, and no others: the server is not its own. */
export async function removePrefix(url: string, prefix: string): Promise<void> {
  const client = new Redis(url)
  try {
    for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 1_000 }))
      if (keys.length > 0) await client.unlink(...keys)
  } finally {
    client.disconnect()
  }
}
