// Repeatedly kills receivers with a durable inbox under load, and checks that no delivery is lost. Prints one line per
// engine, and fails if a delivery is lost, or is handled twice without an explanation such as a crash.
//
//   npm run crash -- --engine sqlite|postgres|redis|all --kills 100 --receivers 4 --server-kills 6 --seed 1
//   npm run crash -- --coalesce --engine sqlite --kills 100
//
// With --coalesce, the workers handle the deliveries of a feature service together. It also checks that the ends of a
// group are recorded all or not at all.
import { parseArgs } from 'node:util'
import { ENGINES } from '../test/inbox/crash/engines.ts'
import { toLine } from '../test/inbox/crash/line.ts'
import { toSeed } from '../test/inbox/crash/random.ts'
import { runCrashes } from '../test/inbox/crash/run.ts'

const { engine: name, serverKills, ...common } = readOptions()
const engines = name === 'all' ? Object.keys(ENGINES) : [name]

for (const engine of engines) {
  const hasServer = engine !== 'sqlite'
  if (!hasServer && serverKills > 0) console.log('sqlite has no server: ignoring --server-kills')
  const run = { engine, ...common, serverKills: hasServer ? serverKills : 0 }
  const verdict = await runCrashes(run)
  console.log(toLine(run, verdict))
  const wrong = [...verdict.lost.map((id) => `${id} was lost`), ...verdict.faults]
  for (const line of wrong.slice(0, 20)) console.log(`  ${line}`)
  if (wrong.length > 0) process.exitCode = 1
}

function readOptions() {
  try {
    const options = {
      engine: { type: 'string', default: 'all' },
      kills: { type: 'string', default: '100' },
      receivers: { type: 'string', default: '1' },
      'server-kills': { type: 'string', default: '0' },
      seed: { type: 'string' },
      coalesce: { type: 'boolean', default: false },
    }
    const { engine, coalesce, ...values } = parseArgs({ options }).values
    const names = [...Object.keys(ENGINES), 'all']
    if (!names.includes(engine)) throw new Error(`--engine must be one of ${names.join(', ')}`)
    const kills = toInteger(values.kills, 1)
    if (kills === undefined) throw new Error('--kills must be an integer from 1')
    const receivers = toInteger(values.receivers, 1, 16)
    if (receivers === undefined) throw new Error('--receivers must be an integer from 1 to 16')
    const serverKills = toInteger(values['server-kills'], 0)
    if (serverKills === undefined) throw new Error('--server-kills must be an integer from 0')
    const seed = values.seed === undefined ? toSeed(undefined) : toInteger(values.seed, 0, 2 ** 32 - 1)
    if (seed === undefined) throw new Error('--seed must be an integer from 0 to 4294967295')
    if (coalesce && serverKills > 0) throw new Error('--coalesce cannot be combined with --server-kills')
    return { engine, kills, receivers, serverKills, seed, coalesce }
  } catch (error) {
    console.error(error.message)
    process.exit(2)
  }
}

function toInteger(text, minimum, maximum = Number.MAX_SAFE_INTEGER) {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  return number >= minimum && number <= maximum ? number : undefined
}
