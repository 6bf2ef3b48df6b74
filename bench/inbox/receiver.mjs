// Runs the receiver under test: `receiver.mjs <store as JSON>`. Sends its port when it is ready, and replies to each
// message with the result of the function that it names.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { KEY } from '../payloads.mjs'

const { entry, factory, options } = JSON.parse(process.argv[2])
const inbox = entry && (await import(`geohook/${entry}`))[factory](options)
let workers
let handled = 0
/** Time when the workers started, and time of the last handled delivery. */
let [started, last] = [0, 0]
const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', () => {
  handled += 1
  last = performance.now()
})
const server = createServer(webhook(receiver)).listen(0, '127.0.0.1')
await once(server, 'listening')

const answers = {
  handled: () => ({ handled, milliseconds: last - started }),
  /** Numbers of deliveries: in any state, and those that are not handled yet. */
  async stored() {
    const { waiting, active, done, dead, unhandled } = await inbox.stats()
    return { all: waiting + active + done + dead + unhandled, pending: waiting + active }
  },
  work() {
    handled = 0
    started = performance.now()
    workers = inbox.work(receiver, { concurrency: 50 })
  },
  rest: () => workers.close(),
  close: () => inbox?.close(),
}
process.on('message', async (question) => process.send((await answers[question]()) ?? null))
process.on('disconnect', () => process.exit())
process.send(server.address().port)
