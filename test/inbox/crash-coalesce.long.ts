import { expect, it } from 'vitest'
import { describeWith, POSTGRES } from '../helpers/services.ts'
import type { EngineName } from './crash/engines.ts'
import { toLine } from './crash/line.ts'
import { toSeed } from './crash/random.ts'
import { type Run, runCrashes } from './crash/run.ts'

const seed = toSeed(process.env.CRASH_SEED)

/** A short version of `npm run crash -- --coalesce`. */
function recordsGroupsAsAWhole(engine: EngineName, kills: number): void {
  it.concurrent(`kill -9 loses no delivery of a group and records no half group: ${engine}, CRASH_SEED=${seed}`, {
    tags: engine === 'sqlite' ? ['sqlite'] : [],
  }, async () => {
    const run: Run = { engine, kills, seed, coalesce: true }
    const verdict = await runCrashes(run)
    const line = toLine(run, verdict)
    expect(verdict, line).toMatchObject({ lost: [], faults: [] })
    expect(verdict.acknowledged, line).toBeGreaterThan(0)
    // Without groups of several deliveries, the test would prove nothing.
    expect('largest' in verdict && verdict.largest, line).toBeGreaterThan(1)
  })
}

recordsGroupsAsAWhole('sqlite', 4)
await describeWith(POSTGRES, () => recordsGroupsAsAWhole('postgres', 2))
