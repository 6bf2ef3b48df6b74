import { SCENARIOS } from '../../check/index.ts'
import type { Io } from '../terminal/io.ts'
import { toTable } from '../terminal/table.ts'

/** Prints all scenarios as a table, or as JSON with their reasons and fixes. */
export async function printScenarios(io: Io): Promise<void> {
  if (io.json) return io.printJson({ scenarios: SCENARIOS })
  const rows = SCENARIOS.map(({ group, id, level, title, hasSideEffects }) => [
    group,
    id,
    level,
    `${title}${hasSideEffects ? ' (--side-effects)' : ''}`,
  ])
  io.print(await toTable(io, ['group', 'id', 'level', 'a conforming receiver'], rows))
}
