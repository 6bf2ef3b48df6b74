// A receiver in Next.js: a route handler, whose URL is derived from the path of this file.
// Start it in the folder of package.json: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: npm install geohook, and put this file at app/hooks/parcels/route.js
import { createReceiver } from 'geohook'

const receiver = createReceiver({
  // A function, so that the key is read for each delivery: `next build` also loads this file, without a key.
  signatureKey: () => process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))

export const POST = receiver.fetch
