// A receiver in a Cloudflare Worker.
// Start it in this folder: npm install && npm start, with SIGNATURE_KEY=<the webhook's signatureKey> in a file .dev.vars
// To deploy it: npx wrangler secret put SIGNATURE_KEY && npm run deploy. In your own app: npm install geohook wrangler
import { createReceiver } from 'geohook'

/** Receivers by `env`, because a worker gets its secrets only with a request. Later requests reuse the same `env`. */
const receivers = new WeakMap()

function receiverFor(env) {
  const existing = receivers.get(env)
  if (existing) return existing
  const receiver = createReceiver({
    signatureKey: env.SIGNATURE_KEY,
    observer: {
      refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
      failed: ({ error }) => console.error('failed:', error.cause),
    },
  }).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))
  receivers.set(env, receiver)
  return receiver
}

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url)
    if (pathname === '/hooks/parcels') return receiverFor(env).fetch(request)
    return Response.json({ ok: pathname === '/health' }, { status: pathname === '/health' ? 200 : 404 })
  },
}
