import type { DurableInbox } from 'geohook/inbox'
import { createRedisInbox, type RedisInboxOptions } from 'geohook/redis'
import { afterEach, beforeEach } from 'vitest'
import { createPrivateRedis, findRedis, type PrivateRedis } from '../../helpers/private-redis.ts'

/** Argument of `describeWith` for tests that need the `redis-server` program. */
export const REDIS_SERVER = { name: 'redis-server', url: '' } as const

/** A private Redis server for each test. The test starts the server and may kill it. */
export interface PrivateRedisFixture {
  readonly server: PrivateRedis
  /** Errors that the inboxes reported as `trouble`. */
  readonly troubles: readonly unknown[]
  /**
   * Opens an inbox with a short lease, so that deliveries taken just before an outage are soon due again. The inbox is
   * closed after the test.
   */
  open(options?: Partial<RedisInboxOptions>): DurableInbox
}

export function usePrivateRedis(): PrivateRedisFixture {
  let server: PrivateRedis
  let troubles: unknown[] = []
  let inboxes: DurableInbox[] = []
  beforeEach(async () => {
    server = await createPrivateRedis(findRedis() ?? 'redis-server')
    troubles = []
    inboxes = []
  })
  afterEach(async () => {
    await Promise.all(inboxes.map((inbox) => inbox.close()))
    await server?.remove()
  })

  return {
    get server() {
      return server
    },
    get troubles() {
      return troubles
    },
    open(options) {
      const inbox = createRedisInbox({
        url: server.url,
        lease: 1_000,
        observer: { trouble: ({ error }) => troubles.push(error), failed() {}, dead() {} },
        ...options,
      })
      inboxes.push(inbox)
      return inbox
    },
  }
}
