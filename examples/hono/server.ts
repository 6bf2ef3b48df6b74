// geohook as middleware in Hono, with a schema that types the payload.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: npm install geohook hono @hono/node-server zod
import type { Server } from 'node:http'
import { serve } from '@hono/node-server'
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/hono'
import { Hono } from 'hono'
import { z } from 'zod'

const app = new Hono()
app.get('/health', (c) => c.json({ ok: true }))

const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  // Any Standard Schema. After verifying the signature, the receiver responds with 400 if the payload does not match.
  schema: z.object({ serviceName: z.string(), events: z.array(z.looseObject({ eventType: z.string() })) }),
  observer: { refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`) },
})
app.post('/hooks/parcels', webhook(receiver), (c) => {
  const { serviceName, events } = c.get('delivery').payload // typed by the schema
  for (const { eventType } of events) console.log(`${eventType} on ${serviceName}`)
  return c.json({ received: events.length })
})

const port = Number(process.env.PORT ?? 3000)
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, (address) => {
  console.log(`listening on http://127.0.0.1:${address.port}/hooks/parcels`)
})

closeOnSignal(server as Server, receiver)
