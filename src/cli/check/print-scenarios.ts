import { SCENARIOS } from '../../check/index.ts'
import { print, printJson } from '../terminal/output.ts'
import { toTable } from '../terminal/table.ts'

/** Prints all scenarios as a table, or as JSON with their reasons and fixes. */
export async function printScenarios(json: boolean): Promise<void> {
  if (json) return printJson({ scenarios: SCENARIOS })
  const rows = SCENARIOS.map(({ group, id, level, title, hasSideEffects }) => [
    group,
    id,
    level,
    `${title}${hasSideEffects ? ' (--side-effects)' : ''}`,
  ])
  print(await toTable(['group', 'id', 'level', 'a conforming receiver'], rows))
}
