// Runs the receiver under test in a separate process. The parent process controls it with messages.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createReceiver } from '../../dist/index.js'
import { webhook } from '../../dist/node.js'
import { createDirectPuts } from './direct-puts.mjs'

const { KEY, ENTRY, FACTORY, OPTIONS = '{}' } = process.env
const options = JSON.parse(OPTIONS)
const inbox = ENTRY ? await (await import(`../../dist/${ENTRY}.js`))[FACTORY](options) : undefined
const directPuts = createDirectPuts({ inbox, entry: ENTRY, options })
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

const ANSWERS = {
  port: () => server.address().port,
  handled: () => ({ handled, milliseconds: last - started }),
  /** Number of deliveries in any state. */
  async held() {
    const { waiting, active, done, dead } = await inbox.stats()
    return waiting + active + done + dead
  },
  async pending() {
    const { waiting, active } = await inbox.stats()
    return waiting + active
  },
  work() {
    handled = 0
    started = performance.now()
    workers = inbox.work(receiver, { concurrency: 50 })
  },
  rest: () => workers.close(),
  put: directPuts.put,
  byHand: directPuts.byHand,
  endByHand: directPuts.close,
  async close() {
    server.close()
    server.closeAllConnections()
    await inbox?.close()
  },
}

process.on('message', async ({ question, argument }) => {
  try {
    process.send({ answer: await ANSWERS[question](argument) })
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) })
  }
  if (question === 'close') process.disconnect()
})
