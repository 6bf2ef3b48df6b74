// A receiver on Bun, which needs no adapter: receiver.fetch takes a Request and returns a Response.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: bun add geohook
import { createReceiver } from 'geohook'

const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))

const server = Bun.serve({
  port: Number(process.env.PORT ?? 3000),
  hostname: '127.0.0.1',
  routes: {
    '/hooks/parcels': (request) => receiver.fetch(request),
    '/health': Response.json({ ok: true }),
  },
})
console.log(`listening on ${new URL('/hooks/parcels', server.url)}`)

async function stop() {
  setTimeout(() => process.exit(1), 5_000).unref() // in case a handler never returns
  await receiver.close()
  await server.stop()
}
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, stop)
