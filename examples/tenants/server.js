// One receiver for many tenants in nested Express routers. The key function finds the tenant in `request.params`.
// Start it in this folder: npm install && SIGNATURE_KEY=<the key of parcels> ROADS_KEY=<the key of roads> npm start
// In your own app: npm install geohook express
import express from 'express'
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/express'

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

// Without `mergeParams`, a router does not see the parameters of the router that it is mounted in.
const hooks = express.Router({ mergeParams: true })
hooks.post('/:version', webhook(receiver))

const tenant = express.Router({ mergeParams: true })
tenant.use('/hooks', hooks)
tenant.get('/', (req, res) => res.json({ tenant: req.params.tenant }))

const app = express()
app.use('/tenants/:tenant', tenant)

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/tenants/parcels/hooks/v1`)
})

closeOnSignal(server, receiver)
