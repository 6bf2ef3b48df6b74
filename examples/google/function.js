// A receiver as an HTTP function of Google Cloud Functions.
// In your own folder: npm init -y && npm pkg set type=module main=function.js
//   npm install geohook @google-cloud/functions-framework
// In a clone of geohook: npm run build
// Then: SIGNATURE_KEY=<the webhook's signatureKey> npx functions-framework --target=parcels --port=3000
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
