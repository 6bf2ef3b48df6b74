import { expect, it } from 'vitest'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import type { EngineName } from '../../inbox/crash/engines.ts'
import { toSeed } from '../../inbox/crash/random.ts'
import { runCatchUp, toLine } from './run-catch-up.ts'

const seed = toSeed(process.env.CRASH_SEED)

/**
 * Tests with this number of kills on each engine that no edit is lost. Leaves out engines without a number. `npm run
 * crash -- --catch-up` kills more often.
 */
export async function describeLosses(numbers: Partial<Record<EngineName, number>>): Promise<void> {
  function losesNoEdit(engine: EngineName, kills: number): void {
    it.concurrent(`catches up with lost deliveries after kill -9: ${engine}, CRASH_SEED=${seed}`, {
      tags: engine === 'sqlite' ? ['sqlite'] : [],
    }, async () => {
      const run = { engine, kills, seed }
      const verdict = await runCatchUp(run)
      const line = toLine(run, verdict)
      expect(verdict, line).toMatchObject({ missing: [], wrong: [] })
      // Without them, the test would prove nothing.
      expect(verdict.edits, line).toBeGreaterThan(0)
      expect(verdict.compared, line).toBeGreaterThan(0)
    })
  }

  const { sqlite, postgres } = numbers
  if (sqlite) losesNoEdit('sqlite', sqlite)
  if (postgres) await describeWith(POSTGRES, () => losesNoEdit('postgres', postgres))
}
