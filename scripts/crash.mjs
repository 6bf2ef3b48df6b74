// Kills a receiver with a durable inbox again and again, under a load of deliveries, and checks that nothing was lost.
// It prints one line of figures for each engine, and fails where something was lost or doubled without a cause.
//
//   npm run crash -- --engine sqlite|postgres|redis|all --kills 100 --seed 1
import { parseArgs } from 'node:util'
import { ENGINES } from '../test/inbox/crash/engines.ts'
import { toSeed } from '../test/inbox/crash/random.ts'
import { runCrashes, toLine } from '../test/inbox/crash/run.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'all' },
    kills: { type: 'string', default: '100' },
    seed: { type: 'string' },
  },
})
const engines = values.engine === 'all' ? Object.keys(ENGINES) : [values.engine]
if (!engines.every((engine) => Object.hasOwn(ENGINES, engine))) throw new Error(`no engine ${values.engine}`)
const [kills, seed] = [Number(values.kills), toSeed(values.seed)]
if (!Number.isInteger(kills) || kills < 1 || !Number.isInteger(seed))
  throw new Error('kills and seed are numbers')

for (const engine of engines) {
  const verdict = await runCrashes({ engine, kills, seed })
  console.log(toLine({ engine, kills, seed }, verdict))
  const wrong = [...verdict.lost.map((id) => `${id} was lost`), ...verdict.faults]
  for (const one of wrong.slice(0, 20)) console.log(`  ${one}`)
  if (wrong.length > 0) process.exitCode = 1
}
