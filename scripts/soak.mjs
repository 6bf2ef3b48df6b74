// Runs correct and hostile requests against all adapters and a SQLite inbox for minutes, restarts them, and fails if
// memory, sockets, timers or files grow, if a delivery is lost or handled twice, or if a response is wrong.
//
//   npm run soak -- --minutes 30 --seed 1 --json soak.json
//   npm run soak -- --minutes 0.5 --leak 100
//
// --leak plants a leak, which the run must find: a number of bytes per request, or `timer` for a timer per stalled
// upload to one adapter. Exit codes:
//
//   0  nothing is wrong in the rows that were judged. Rows "not judged" do not change the exit code: a run of half a
//      minute judges neither the heap of each adapter nor the heap after restarts
//   1  a leak, a wrong or missing response, or a delivery that was lost, stuck or handled twice
//   2  a wrong option
//   3  nothing is wrong, but the heap is "unclear" in some row: its interval includes the limit
import { randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { runSoak } from './soak/run.mjs'
import { judgeAdapters, judgeResources, judgeRestarts, printReport, printVerdict } from './soak/verdict.mjs'

const { json, ...options } = readOptions()
console.log(`seed ${options.seed}`)
const run = await runSoak(options)
const result = {
  seed: options.seed,
  run,
  resources: judgeResources(run.generations),
  adapters: judgeAdapters(run.generations, run.adapters),
  restarts: judgeRestarts(run.restarts),
}
printReport(result)
process.exitCode = printVerdict(result)
if (json) writeFileSync(json, JSON.stringify({ ...result, run: { ...run, faults: [...run.faults] } }))

function readOptions() {
  try {
    const { minutes, seed, leak, json } = parseArgs({
      options: {
        minutes: { type: 'string', default: '5' },
        seed: { type: 'string' },
        leak: { type: 'string', default: '0' },
        json: { type: 'string' },
      },
    }).values
    if (!(Number(minutes) > 0 && Number.isFinite(Number(minutes))))
      throw new Error('--minutes must be a number greater than 0')
    if (seed !== undefined && !/^\d{1,9}$/.test(seed)) throw new Error('--seed must be an integer below 10^9')
    if (!['0', 'timer'].includes(leak) && !(/^\d+$/.test(leak) && Number(leak) >= 32))
      throw new Error('--leak must be an integer from 32, or timer')
    return {
      minutes: Number(minutes),
      seed: seed === undefined ? randomInt(1e9) : Number(seed),
      leak,
      json,
    }
  } catch (error) {
    console.error(error.message)
    process.exit(2)
  }
}
