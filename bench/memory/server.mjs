// Runs a server to measure its memory: `node --expose-gc server.mjs <function in LISTENERS>`. Sends its port when it is
// ready. Each message is the name of a function in `answers`; the reply is the function's result.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import getRawBody from 'raw-body'
import { KEY } from '../payloads.mjs'
import { watchResident } from './resident.mjs'

const LIMIT = 6 * 1024 ** 2
let [arrived, handled] = [0, 0]
let resident
const handle = () => {
  handled++
}

const LISTENERS = {
  /** Allows more body bytes in flight than the default, which is less than the sum of all uploads. */
  geohook: () =>
    webhook(createReceiver({ signatureKey: KEY, limit: LIMIT, maxInFlightBytes: '1gb' }).on('*', handle)),

  /** Reads the body with raw-body, and hashes each chunk as it arrives. */
  rawBody: () => async (req, res) => {
    const hmac = createHmac('sha256', KEY)
    req.on('data', (chunk) => hmac.update(chunk))
    const bytes = await getRawBody(req, { limit: LIMIT, length: req.headers['content-length'] })
    const given = Buffer.from(req.headers['x-service'] ?? '', 'hex')
    const digest = hmac.digest()
    if (given.length !== digest.length || !timingSafeEqual(given, digest)) return res.writeHead(401).end()
    handle(JSON.parse(bytes))
    return res.writeHead(200).end()
  },
}

const answers = {
  watch() {
    resident = watchResident()
    arrived = 0
    handled = 0
    return resident.idle
  },
  arrived: () => arrived,
  handled: () => handled,
  peak: () => resident.peak(),
}
process.on('message', (question) => process.send(answers[question]()))
process.on('disconnect', () => process.exit())

const listener = LISTENERS[process.argv[2]]()
const server = createServer((req, res) => {
  // Counts what the parser pushes: a `data` listener would start the stream before the receiver listens.
  const { push } = req
  req.push = (chunk, encoding) => {
    arrived += chunk?.length ?? 0
    return push.call(req, chunk, encoding)
  }
  listener(req, res)
})
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
