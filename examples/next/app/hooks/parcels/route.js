// A receiver in Next.js, as a route handler. In an app of your own: npm install geohook, and this file in its place.
// In a clone of geohook: npm run build, then in this folder npm install ../.. and npm install
// Then: SIGNATURE_KEY=<the webhook's signatureKey> npx next dev, or npx next build && npx next start
import { createReceiver } from 'geohook'

const receiver = createReceiver({
  // A function: the key is read when a delivery comes. A build loads this file too, and has no key.
  signatureKey: () => process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))

export const POST = receiver.fetch
