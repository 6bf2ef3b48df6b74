import { inspect } from 'node:util'
import { createRedisDuplicates } from 'geohook/redis'
import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { describeWith } from '../../helpers/services.ts'
import { type Load, startLoad } from '../http-load.ts'
import {
  countRejections,
  drain,
  expectClaimsSurviveOutages,
  expectNothingLost,
  runThrough,
} from '../outage.ts'
import { REDIS_SERVER, usePrivateRedis } from './private-server.ts'

await describeWith(REDIS_SERVER, () => {
  describe('an inbox during an outage of Redis', () => {
    const fixture = usePrivateRedis()
    const { open } = fixture

    async function runThroughOutage(outage: (load: Load) => Promise<void>): Promise<Load> {
      await fixture.server.start()
      return runThrough(open(), outage)
    }

    function expectRecovery(load: Load): void {
      expectNothingLost(load)
      expect(inspect(fixture.troubles, { depth: 10, showHidden: true })).not.toContain('s3cret')
    }

    it('returns 503 until the server runs', async () => {
      const load = await startLoad(open())
      try {
        await until(() => countRejections(load) > 20)
        expect(load.accepted.size).toBe(0)
        expect(String(fixture.troubles[0])).toContain('ECONNREFUSED')
        await fixture.server.start()
        await until(() => load.handled.size > 50)
        await load.end()
        await drain(load)
      } finally {
        await load.close()
      }
      expectRecovery(load)
      expect(fixture.troubles.length).toBeGreaterThan(0)
    })

    it('returns 503 and loses nothing when the server crashes under load', async () => {
      const load = await runThroughOutage(async (running) => {
        await fixture.server.crash()
        await until(() => countRejections(running) > 50)
        await fixture.server.start()
      })
      expectRecovery(load)
      expect(fixture.troubles.length).toBeGreaterThan(0)
    })

    it('returns 503 and loses nothing while the server hangs under load', async () => {
      const load = await runThroughOutage(async (running) => {
        fixture.server.hang()
        try {
          await until(() => countRejections(running) > 50)
        } finally {
          fixture.server.resume()
        }
      })
      expectRecovery(load)
    })

    it('returns 503 and loses nothing while the memory of the server is full', async () => {
      const load = await runThroughOutage(async (running) => {
        await fixture.server.command('CONFIG', 'SET', 'maxmemory', '1')
        await until(() => countRejections(running) > 20)
        await fixture.server.command('CONFIG', 'SET', 'maxmemory', '0')
      })
      expectRecovery(load)
    })

    it('returns 503 and loses nothing while the server is a read-only replica', async () => {
      const load = await runThroughOutage(async (running) => {
        await fixture.server.command('REPLICAOF', '127.0.0.1', '1')
        await until(() => countRejections(running) > 20)
        await fixture.server.command('REPLICAOF', 'NO', 'ONE')
      })
      expectRecovery(load)
    })

    it('the duplicate store rejects claims while the server hangs or is down, and accepts them afterwards', async () => {
      const { server } = fixture
      await server.start()
      await expectClaimsSurviveOutages(createRedisDuplicates({ url: server.url }), server)
    })
  })
})
