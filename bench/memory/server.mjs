// A server whose memory and time are looked at: `server.mjs <listener> <its options as JSON>`, with --expose-gc. Says its
// port, and answers what it is asked by name.
import { createServer } from 'node:http'
import { createArrivals } from './arrivals.mjs'
import { collect, watchResident } from './resident.mjs'
import { createTurns } from './turns.mjs'

const [name, options] = process.argv.slice(2)
const arrivals = createArrivals()
const turns = createTurns()
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
  /** Milliseconds from the last byte of the latest upload to the verdict on it. */
  verdict: () => verdictAt - arrivals.lastAt,
  beginTurns: () => turns.begin(),
  endTurns: () => turns.end(),
  watchResident() {
    resident = watchResident()
    arrivals.bytes = 0
    handled = 0
    return resident.idle
  },
  arrived: () => arrivals.bytes,
  handled: () => handled,
  peak: () => resident.peak(),
  /** What is held now, without garbage. */
  held() {
    collect()
    return process.memoryUsage.rss()
  },
}
process.on('message', (question) => process.send(answers[question]() ?? null))
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
