import { expect, it } from 'vitest'
import { findPostgres } from '../helpers/private-postgres.ts'
import { describeWith, POSTGRES } from '../helpers/services.ts'
import type { EngineName } from './crash/engines.ts'
import { toLine } from './crash/line.ts'
import { toSeed } from './crash/random.ts'
import { type Run, runCrashes } from './crash/run.ts'

// Number of kills in each test. `npm run crash` uses a larger number.
const KILLS = 5
const seed = toSeed(process.env.CRASH_SEED)

function losesNothing(engine: EngineName, more: Partial<Run> = {}): void {
  const { receivers = 1, serverKills = 0, names = false, order = false } = more
  const which = `${engine}, receivers ${receivers}, server kills ${serverKills}${names ? ', names' : ''}${order ? ', order' : ''}, CRASH_SEED=${seed}`
  // The tests run concurrently, because each test mostly waits for leases.
  it.concurrent(`kill -9 loses no acknowledged delivery: ${which}`, {
    tags: engine === 'sqlite' ? ['sqlite'] : [],
  }, async () => {
    const run = { engine, kills: KILLS, seed, ...more }
    const verdict = await runCrashes(run)
    console.log(toLine(run, verdict))
    expect(verdict).toMatchObject({ lost: [], faults: [] })
    // Without acknowledged deliveries, the test would prove nothing.
    expect(verdict.acknowledged).toBeGreaterThan(0)
    expect(verdict.handled).toBeGreaterThanOrEqual(verdict.acknowledged)
    if (order) expect(verdict).toMatchObject({ waited: expect.toSatisfy((waited) => waited > 0) })
  })
}

losesNothing('sqlite')
losesNothing('sqlite', { receivers: 2 })
losesNothing('sqlite', { receivers: 2, names: true })
losesNothing('sqlite', { receivers: 2, order: true })
await describeWith(POSTGRES, () => {
  losesNothing('postgres')
  losesNothing('postgres', { receivers: 2, names: true })
  losesNothing('postgres', { receivers: 2, order: true })
})
if (findPostgres() || process.env.CI === 'true') losesNothing('postgres', { receivers: 2, serverKills: 2 })
else it.skip('kill -9 loses no acknowledged delivery: postgres, needs the PostgreSQL programs', () => {})
