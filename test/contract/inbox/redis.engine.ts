import { randomUUID } from 'node:crypto'
import { createRedisDuplicates } from 'geohook/redis'
import { Redis } from 'ioredis'
import { removePrefix } from '../../helpers/redis-keys.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { describeDuplicates } from './duplicates.ts'

await describeWith(REDIS, (url) =>
  describeDuplicates({
    name: 'Redis',
    async create() {
      const prefix = `geohook-test-${randomUUID()}`
      const clients: Redis[] = []
      return {
        open(options) {
          const connection = new Redis(url)
          clients.push(connection)
          return createRedisDuplicates({ connection, prefix, ...options })
        },
        async remove() {
          for (const client of clients) client.disconnect()
          await removePrefix(url, prefix)
        },
      }
    },
    isShared: true,
  }),
)
