import { randomUUID } from 'node:crypto'
import { createRedisDuplicates, createRedisInbox } from 'geohook/redis'
import { Redis } from 'ioredis'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { describeDuplicates } from './duplicates.ts'
import { describeInbox } from './inboxes.ts'

await describeWith(REDIS, (url) => {
  describeInbox({
    name: 'Redis',
    async create() {
      const prefix = `geohook-test-${randomUUID()}`
      return {
        open: (options) => createRedisInbox({ url, prefix, ...options }),
        remove: () => removePrefix(url, prefix),
      }
    },
    leastLease: 1_000,
    isShared: true,
  })

  describeDuplicates({
    name: 'Redis',
    async create() {
      const prefix = `geohook-test-${randomUUID()}`
      return {
        open: (options) => createRedisDuplicates({ url, prefix, ...options }),
        remove: () => removePrefix(url, prefix),
      }
    },
    isShared: true,
  })
})

async function removePrefix(url: string, prefix: string): Promise<void> {
  const client = new Redis(url)
  for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 1_000 }))
    if (keys.length > 0) await client.unlink(...keys)
  await client.quit()
}
