// A receiver in Fastify, in an app with a JSON route that has its own schema.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: npm install geohook fastify
import fastify from 'fastify'
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/fastify'

const app = fastify()

const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
})
  .on(['FeaturesCreated', 'FeaturesUpdated'], ({ changeType, service }) => {
    console.log(`${changeType} on ${service.serviceName}`)
  })
  .on('FeaturesDeleted', ({ changesUrl }) => console.log(`deleted: ${changesUrl}`))

// Other routes still use Fastify's parsers and schemas.
app.register(webhook(receiver), { prefix: '/hooks/parcels' })

const body = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
app.post('/layers', { schema: { body } }, async (request) => ({ added: request.body.name }))

const origin = await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
console.log(`listening on ${origin}/hooks/parcels`)

closeOnSignal(app.server, receiver, { after: () => app.close() })
