// Loaded before examples that administer services at addresses such as https://gis.example.com/server. Serves them with
// one mock service: redirects all requests of `fetch` to it, and accepts every user and token.
import { createServer } from 'node:http'
import { createMockService } from 'geohook/mock'

const FEATURES = { serviceName: 'Parcels', serviceType: 'FeatureServer', signatureKey: 'parcels2026' }
const hookUrl = 'https://old.example/hooks/parcels'
const service = createMockService({
  like: { product: 'enterprise', federated: false },
  webhooks: [
    { ...FEATURES, name: 'edits', hookUrl },
    { ...FEATURES, name: 'audit', hookUrl, active: false },
    { serviceName: 'self', serviceType: 'Portal', name: 'new items', hookUrl, changeTypes: ['/items/add'] },
  ],
  auth: {
    authenticate: () => ({ username: 'kim', privileges: ['features', 'geoprocessing'] }),
    generateToken: async () => ({ token: 'issued', expires: Date.now() + 3_600_000 }),
  },
})

// The server does not keep the process of the example alive.
const server = createServer(service.app)
  .on('connection', (socket) => socket.unref())
  .unref()
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

const { fetch } = globalThis
globalThis.fetch = (given, init) => {
  const url = new URL(given)
  const path = url.pathname.replace(/^.*?(?=\/(?:admin|rest|sharing)\/)/, '')
  return fetch(`http://127.0.0.1:${server.address().port}${path}${url.search}`, init)
}
