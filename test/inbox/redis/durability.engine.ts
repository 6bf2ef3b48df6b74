import { createReceiver } from 'geohook'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { uniquePayload, until } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { describeWith } from '../../helpers/services.ts'
import { warningsOf } from '../../helpers/warnings.ts'
import { REDIS_SERVER, usePrivateRedis } from './private-server.ts'

const NO_FILE =
  'Redis has no append-only file: a crash of the server loses deliveries. Set appendonly to yes.'
const evicts = (policy: string) =>
  `Redis may evict deliveries (${policy}). Set maxmemory-policy to noeviction.`

await describeWith(REDIS_SERVER, () => {
  describe('warnings about the settings of the Redis server', () => {
    const fixture = usePrivateRedis()
    // BullMQ and ioredis print their own advice about these servers.
    beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())
    afterEach(() => void vi.mocked(console.warn).mockRestore())

    /** Uses a server with these settings through two inboxes, as a new process, and returns the warnings. */
    async function warningsWith(settings: Record<string, string>): Promise<string[]> {
      await fixture.server.start(settings)
      // Each warning is emitted once per process, so earlier tests may have emitted it.
      vi.resetModules()
      const { createRedisInbox } = await import('../../../src/inbox/redis/index.ts')
      return warningsOf(async () => {
        for (let number = 0; number < 2; number++) {
          const inbox = createRedisInbox({ url: fixture.server.url })
          await inbox.stats()
          await inbox.close()
        }
      })
    }

    it.each<[string, Record<string, string>, string[]]>([
      ['no append-only file', { appendonly: 'no' }, [NO_FILE]],
      ['a policy that evicts', { 'maxmemory-policy': 'allkeys-lru' }, [evicts('allkeys-lru')]],
      ['both', { appendonly: 'no', 'maxmemory-policy': 'volatile-ttl' }, [NO_FILE, evicts('volatile-ttl')]],
      ['durable settings', {}, []],
    ])('emits each warning once for two inboxes: %s', async (_, settings, warnings) => {
      expect(await warningsWith(settings)).toEqual(warnings.map((text) => `inbox_not_durable: ${text}`))
    })

    it('handles deliveries for a user who may not call INFO, without errors', async () => {
      const { server } = fixture
      await server.start()
      const rules = ['on', '>word', '~*', '&*', '+@all', '-info', '-config']
      await server.command('ACL', 'SETUSER', 'plain', ...rules)
      const inbox = fixture.open({ url: server.url.replace(':s3cret-of-redis@', 'plain:word@') })
      let handled = 0
      inbox.work(createReceiver({ signatureKey: KEY }).on('*', () => handled++))
      expect((await deliver(createReceiver({ signatureKey: KEY, inbox }), uniquePayload())).status).toBe(202)
      await until(() => handled === 1)
      expect(fixture.troubles).toEqual([])
    })
  })
})
