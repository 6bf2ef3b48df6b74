// Runs a server to measure its memory and time: `node --expose-gc server.mjs <listener> <its options as JSON>`. Sends
// its port when it is ready. Each message is the name of a function in `answers`; the reply is the function's result.
import { createServer } from 'node:http'
import { createArrivals } from './arrivals.mjs'
import { collect, watchResident } from './resident.mjs'
import { createTicks } from './ticks.mjs'

const [name, options] = process.argv.slice(2)
const arrivals = createArrivals()
const ticks = createTicks()
let resident
let verdictAt = 0
let handled = 0

const { [name]: create } = await import('./listeners.mjs')
const listener = create(
  {
    verdict() {
      verdictAt = performance.now()
    },
    handle() {
      handled++
    },
  },
  JSON.parse(options),
)
const server = createServer((req, res) => {
  arrivals.watch(req)
  listener(req, res)
})

const answers = {
  /** Milliseconds from the last byte of the latest upload to its verdict. */
  verdict: () => verdictAt - arrivals.lastAt,
  startTicks: () => ticks.start(),
  endTicks: () => ticks.end(),
  watchResident() {
    resident = watchResident()
    arrivals.bytes = 0
    handled = 0
    return resident.idle
  },
  arrived: () => arrivals.bytes,
  handled: () => handled,
  peak: () => resident.peak(),
  /** Resident memory in bytes after a garbage collection. */
  held() {
    collect()
    return process.memoryUsage.rss()
  },
}
process.on('message', (question) => process.send(answers[question]() ?? null))
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
