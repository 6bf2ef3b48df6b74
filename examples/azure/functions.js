// A receiver as an HTTP-triggered Azure function. The app also has another function.
// Start it in this folder with the Azure Functions Core Tools: npm install && npm start, with SIGNATURE_KEY in the app
// settings (local.settings.json); the URL is /api/hooks/parcels. In your own app: npm install geohook @azure/functions
import { app } from '@azure/functions'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/azure'

const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))

app.http('parcels', {
  route: 'hooks/parcels',
  methods: ['POST'],
  authLevel: 'anonymous', // senders have no Azure function key; the signature authenticates them
  handler: webhook(receiver),
})

app.http('health', { methods: ['GET'], authLevel: 'anonymous', handler: () => ({ jsonBody: { ok: true } }) })
