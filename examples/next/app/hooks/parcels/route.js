// A receiver in Next.js: a route handler, whose URL is derived from the path of this file.
// In your own app: npm install geohook, and put this file at app/hooks/parcels/route.js
// In a clone of geohook: npm run build, then cd examples/next && npm install --no-package-lock
// Then: SIGNATURE_KEY=<the webhook's signatureKey> npx next dev, or npx next build and then npx next start
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
