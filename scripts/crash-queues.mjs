// Repeatedly kills the processes of two recipes in docs/queues.md under load, and checks that every acknowledged delivery
// is handled or in the dead letters. Prints one line for each recipe, and fails if a delivery is lost.
//
//   npm run crash:queues -- --kills 60 --seed 1
import { parseArgs } from 'node:util'
import { toSeed } from '../test/inbox/crash/random.ts'
import { runQueueCrashes, toLine } from '../test/queues/crash.ts'

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '60' }, seed: { type: 'string' } },
})
const seed = toSeed(values.seed)

for (const recipe of ['BullMQ', 'RabbitMQ']) {
  const run = { recipe, kills: Number(values.kills), seed }
  const verdict = await runQueueCrashes(run)
  console.log(toLine(run, verdict))
  if (verdict.lost.length > 0) {
    console.log(`  lost: ${verdict.lost.slice(0, 20).join(', ')}`)
    process.exitCode = 1
  }
}
