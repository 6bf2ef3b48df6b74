// A receiver on node:http that accepts the new and the previous key during a key rotation.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// PREVIOUS_KEY is the key before the rotation, if any. In your own app: npm install geohook
import { createServer } from 'node:http'
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/node'

const { SIGNATURE_KEY, PREVIOUS_KEY, PORT = '3000' } = process.env

const receiver = createReceiver({
  signatureKey: PREVIOUS_KEY ? [SIGNATURE_KEY, PREVIOUS_KEY] : SIGNATURE_KEY, // newest key first
  observer: {
    handled: ({ delivery }) => delivery.keyIndex > 0 && console.log('still signed with the previous key'),
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))

const hook = webhook(receiver)
const server = createServer((req, res) => {
  if (req.url === '/hooks/parcels') return hook(req, res)
  res.writeHead(req.url === '/health' ? 200 : 404, { 'content-type': 'application/json' })
  res.end(JSON.stringify({ ok: req.url === '/health' }))
})
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

closeOnSignal(server, receiver)
