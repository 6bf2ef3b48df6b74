import { randomUUID } from 'node:crypto'
import { createRedisDuplicates, createRedisInbox } from 'geohook/redis'
import { removePrefix } from '../../helpers/redis-keys.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { describeDuplicates } from './duplicates.ts'
import type { InboxEngineKind } from './engine.ts'
import { describeInbox } from './inboxes.ts'
import { describeLease } from './lease.ts'

await describeWith(REDIS, (url) => {
  const kind: InboxEngineKind = {
    name: 'Redis',
    async create() {
      const prefix = `geohook-test-${randomUUID()}`
      return {
        open: (options) => createRedisInbox({ url, prefix, ...options }),
        remove: () => removePrefix(url, prefix),
      }
    },
    minLease: 1_000,
    isShared: true,
  }
  describeInbox(kind)
  describeLease(kind)

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
