import { createRedisInbox, type DurableInbox, type RedisInboxOptions } from 'geohook/redis'
import { afterEach, beforeEach } from 'vitest'
import { createPrivateRedis, findRedis, type PrivateRedis } from '../../helpers/private-redis.ts'

/** For `describeWith`: tests that need the program redis-server. */
export const REDIS_SERVER = { name: 'redis-server', url: '' } as const

/** A Redis server that each test starts and may kill. */
export interface PrivateRedisFixture {
  readonly server: PrivateRedis
  /** Errors that the inboxes reported as `trouble`. */
  readonly troubles: readonly unknown[]
  /** Opens an inbox with a short lease, so that deliveries taken just before an outage are soon due again. */
  open(options?: Partial<RedisInboxOptions>): DurableInbox
}

export function usePrivateRedis(): PrivateRedisFixture {
  let server: PrivateRedis
  let troubles: unknown[] = []
  beforeEach(async () => {
    server = await createPrivateRedis(findRedis() ?? 'redis-server')
    troubles = []
  })
  afterEach(() => server?.remove())

  return {
    get server() {
      return server
    },
    get troubles() {
      return troubles
    },
    open: (options) =>
      createRedisInbox({
        url: server.url,
        lease: 1_000,
        observer: { trouble: ({ error }) => troubles.push(error), failed() {}, dead() {} },
        ...options,
      }),
  }
}
