import { expect, it } from 'vitest'
import { findRedis } from '../helpers/private-redis.ts'
import { describeWith, POSTGRES } from '../helpers/services.ts'
import type { EngineName } from './crash/engines.ts'
import { toSeed } from './crash/random.ts'
import { runCrashes, toLine } from './crash/run.ts'

// `npm run crash` kills more.
const KILLS = 5
const seed = toSeed(process.env.CRASH_SEED)

function losesNothing(engine: EngineName): void {
  // Most of the time each waits for a lease.
  it.concurrent(`kill -9 loses nothing that was acknowledged: ${engine}, CRASH_SEED=${seed}`, {
    timeout: 180_000,
    tags: engine === 'sqlite' ? ['sqlite'] : [],
  }, async () => {
    const run = { engine, kills: KILLS, seed }
    const verdict = await runCrashes(run)
    console.log(toLine(run, verdict))
    expect(verdict).toMatchObject({ lost: [], faults: [] })
    // There was something to lose.
    expect(verdict.acknowledged).toBeGreaterThan(0)
    expect(verdict.handled).toBeGreaterThanOrEqual(verdict.acknowledged)
  })
}

losesNothing('sqlite')
// A Redis of its own, that writes to its disk.
if (findRedis() || process.env.CI === 'true') losesNothing('redis')
else it.skip('kill -9 loses nothing that was acknowledged: redis, needs redis-server', () => {})
await describeWith(POSTGRES, () => losesNothing('postgres'))
