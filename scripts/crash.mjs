// Repeatedly kills receivers with a durable inbox under load, and checks that no delivery is lost. Prints one line per
// engine, and fails if a delivery is lost, or is handled twice without an explanation such as a crash.
//
//   npm run crash -- --engine sqlite|postgres|all --kills 100 --receivers 4 --server-kills 6 --seed 1
//   npm run crash -- --coalesce --engine sqlite --kills 100
//   npm run crash -- --names --engine all --kills 30 --receivers 4
//   npm run crash -- --order --engine all --kills 20 --receivers 4
//   npm run crash -- --catch-up --engine all --seed 1
//
// With several receivers, every second one is an older version of the app, which has no handler for half of the
// deliveries. The others must handle them.
//
// With --coalesce, the workers handle the deliveries of a feature service together. It also checks that the ends of a
// group are recorded all or not at all.
//
// With --names, the app has handlers with names, and its older version has none of them. One of them often fails.
// It checks each handler of a delivery on its own: its successes, its attempts and its dead letters.
//
// With --order, the deliveries are those of feature services, and each sender waits for the response before it sends its
// next one. It also checks that each of two handlers gets the deliveries of a service one by one, in the order in which
// they were answered. All processes run the same version of the app.
//
// With --catch-up, a mock is edited at random, 30 % of its deliveries are lost and its webhook is switched off now and
// then. It checks that the handlers see every edit, and that the snapshots are exact. Half of the processes coalesce.
// Then it runs the test of --coalesce with the same number of kills.
import { parseArgs } from 'node:util'
import { runCatchUp, toLine as toCatchUpLine } from '../test/changes/crash/run-catch-up.ts'
import { ENGINES } from '../test/inbox/crash/engines.ts'
import { toLine } from '../test/inbox/crash/line.ts'
import { toSeed } from '../test/inbox/crash/random.ts'
import { runCrashes } from '../test/inbox/crash/run.ts'

const { engine: name, serverKills, kills: givenKills, isCatchUp, ...common } = readOptions()
const engines = name === 'all' ? Object.keys(ENGINES) : [name]

for (const engine of engines) {
  const hasServer = engine !== 'sqlite'
  const kills = givenKills ?? (isCatchUp && hasServer ? 30 : 100)
  if (!hasServer && serverKills > 0) console.log('sqlite has no server: ignoring --server-kills')
  if (isCatchUp) {
    const run = { engine, kills, seed: common.seed }
    const verdict = await runCatchUp(run)
    report(toCatchUpLine(run, verdict), [...verdict.missing, ...verdict.wrong])
  }
  const run = { engine, kills, ...common, serverKills: hasServer ? serverKills : 0 }
  const verdict = await runCrashes(run)
  report(toLine(run, verdict), [...verdict.lost.map((id) => `${id} was lost`), ...verdict.faults])
}

/** Prints the figures of a run, and the first of its faults. */
function report(line, faults) {
  console.log(line)
  for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`)
  if (faults.length > 0) process.exitCode = 1
}

function readOptions() {
  try {
    const options = {
      engine: { type: 'string', default: 'all' },
      kills: { type: 'string' },
      receivers: { type: 'string', default: '1' },
      'server-kills': { type: 'string', default: '0' },
      seed: { type: 'string' },
      coalesce: { type: 'boolean', default: false },
      names: { type: 'boolean', default: false },
      order: { type: 'boolean', default: false },
      'catch-up': { type: 'boolean', default: false },
    }
    const { engine, coalesce: isCoalesced, 'catch-up': isCatchUp, ...values } = parseArgs({ options }).values
    const coalesce = isCoalesced || isCatchUp
    const engines = [...Object.keys(ENGINES), 'all']
    if (!engines.includes(engine)) throw new Error(`--engine must be one of ${engines.join(', ')}`)
    const kills = values.kills === undefined ? undefined : toInteger(values.kills, 1)
    if (values.kills !== undefined && kills === undefined)
      throw new Error('--kills must be an integer from 1')
    const receivers = toInteger(values.receivers, 1, 16)
    if (receivers === undefined) throw new Error('--receivers must be an integer from 1 to 16')
    const serverKills = toInteger(values['server-kills'], 0)
    if (serverKills === undefined) throw new Error('--server-kills must be an integer from 0')
    const seed = values.seed === undefined ? toSeed(undefined) : toInteger(values.seed, 0, 2 ** 32 - 1)
    if (seed === undefined) throw new Error('--seed must be an integer from 0 to 4294967295')
    const { names, order } = values
    if (coalesce && names)
      throw new Error(`--${isCatchUp ? 'catch-up' : 'coalesce'} cannot be combined with --names`)
    if (coalesce && serverKills > 0)
      throw new Error(`--${isCatchUp ? 'catch-up' : 'coalesce'} cannot be combined with --server-kills`)
    if (order && (coalesce || names))
      throw new Error(
        `--order cannot be combined with --${isCatchUp ? 'catch-up' : names ? 'names' : 'coalesce'}`,
      )
    return { engine, kills, receivers, serverKills, seed, coalesce, names, order, isCatchUp }
  } catch (error) {
    console.error(error.message)
    process.exit(2)
  }
}

function toInteger(text, minimum, maximum = Number.MAX_SAFE_INTEGER) {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  return number >= minimum && number <= maximum ? number : undefined
}
