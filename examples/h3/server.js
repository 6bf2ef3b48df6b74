// geohook as middleware for one route in h3. Nitro and Nuxt use the same handlers.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: npm install geohook h3
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/h3'
import { H3, serve } from 'h3'

const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: { refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`) },
})

function parcels({ context: { delivery } }) {
  for (const event of delivery.events) console.log(`${event.changeType} on ${event.service.serviceName}`)
  return { received: delivery.changeTypes }
}

const app = new H3()
app.get('/health', () => ({ ok: true }))
app.post('/hooks/parcels', parcels, { middleware: [webhook(receiver)] })

const port = Number(process.env.PORT ?? 3000)
const server = serve(app, { port, hostname: '127.0.0.1', silent: true, gracefulShutdown: false })
await server.ready()
console.log(`listening on ${new URL('/hooks/parcels', server.url)}`)

closeOnSignal(server.node.server, receiver)
