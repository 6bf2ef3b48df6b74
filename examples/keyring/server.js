// A receiver whose keys are in a file, so that a key can be rotated while it runs. GET /stats shows which key matched.
// Start it in this folder: npm install && KEYRING=<the path of keys.json> STATS_TOKEN=<a random text> npm start
// keys.json contains {"keys":[{"id":"2026-11","key":"<the webhook's signatureKey>"}]}, with the newest key first.
// ArcGIS Enterprise and ArcGIS Online need the option profile: 'arcgis'. In your own app: npm install geohook
import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { closeOnSignal, createReceiver } from 'geohook'
import { keyring, webhook } from 'geohook/node'

const { KEYRING, STATS_TOKEN, PORT = '3000' } = process.env
if (!STATS_TOKEN) throw new Error('STATS_TOKEN is missing: set it to a long random text')

const receiver = createReceiver({
  signatureKey: keyring(KEYRING),
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))

// Hashes have the same length, as timingSafeEqual requires.
const hash = (text) => createHash('sha256').update(text).digest()
const expected = hash(`Bearer ${STATS_TOKEN}`)
const isAllowed = ({ headers }) => timingSafeEqual(hash(headers.authorization ?? ''), expected)

const hook = webhook(receiver)
const server = createServer(async (req, res) => {
  const [path] = req.url.split('?')
  // A payload URL can end with the id of its key, so that a rotation changes both together.
  if (`${path}/`.startsWith('/hooks/parcels/')) return hook(req, res)
  if (path !== '/stats') return res.writeHead(404).end()
  if (!isAllowed(req)) return res.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
  res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  res.end(JSON.stringify(await receiver.stats()))
})
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

closeOnSignal(server, receiver)
