// Runs the receiver in a separate process. It reads the body, and responds with a few bytes.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { verify } from '../../dist/index.js'
import { KEY } from '../lib/payloads.mjs'

let received = 0
/** Number of valid signatures, counted only while `isChecking` is true. */
let right = 0
let isChecking = false

const server = createServer((req, res) => {
  const chunks = []
  req.on('data', (chunk) => chunks.push(chunk))
  req.on('end', async () => {
    received += 1
    if (isChecking) {
      const verdict = await verify({
        body: Buffer.concat(chunks),
        signature: req.headers['x-service'],
        signatureKey: KEY,
      })
      if (verdict.ok) right += 1
    }
    res.end('ok')
  })
}).listen(0, '127.0.0.1')
await once(server, 'listening')

process.on('message', ({ check }) => {
  process.send({ received, right })
  received = 0
  right = 0
  isChecking = check
})
process.send({ url: `http://127.0.0.1:${server.address().port}/hook` })
