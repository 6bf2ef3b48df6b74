// A receiver as an HTTP function of Google Cloud Functions.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: npm install geohook @google-cloud/functions-framework
import { http } from '@google-cloud/functions-framework'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'

const receiver = createReceiver({
  // Deploy with --set-secrets, and with --allow-unauthenticated, because senders have no Google account.
  signatureKey: process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))

http('parcels', webhook(receiver))
