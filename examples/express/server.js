// A receiver in Express, with handlers for several change types.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: npm install geohook express
import express from 'express'
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/express'

const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
})
  .on('FeaturesCreated', (event) => console.log(`created on ${event.service.serviceName}`))
  .on('FeaturesEdited', (event) => console.log(`edited: ${event.changesUrl}`))
  .on('*', (event, delivery) => console.log(`delivery ${delivery.id}: ${event.changeType}`))

const app = express()
app.post('/hooks/parcels', webhook(receiver)) // before express.json(), because the signature covers the raw bytes
app.use(express.json())
app.get('/health', (_req, res) => res.json({ ok: true }))

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

closeOnSignal(server, receiver)
