// One receiver in Polka for several tenants, each with its own key.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// SIGNATURE_KEY is the key of parcels, ROADS_KEY that of roads. In your own app: npm install geohook polka
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/express'
import polka from 'polka'

const { SIGNATURE_KEY, ROADS_KEY, PORT = '3000' } = process.env

// A Map, not an object, because the tenant's name comes from the request. You can also read the keys from a database.
const keys = new Map([
  ['parcels', SIGNATURE_KEY],
  ['roads', ROADS_KEY],
])
const receiver = createReceiver({
  // Each delivery has the name. Return it for unknown tenants too; their deliveries are refused with key_unknown.
  signatureKey: ({ params: { tenant } }) => ({ keys: keys.get(tenant), tenant }),
  observer: {
    refused: ({ error, tenant }) => console.log(`refused: ${error.code} for ${tenant}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', (event, { tenant }) =>
  console.log(`${event.changeType} on ${event.service.serviceName} of ${tenant}`),
)

const app = polka()
app.post('/hooks/:tenant', webhook(receiver))
app.get('/health', (_req, res) => res.end('{"ok":true}'))
app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${app.server.address().port}/hooks/parcels`)
})

closeOnSignal(app.server, receiver)
