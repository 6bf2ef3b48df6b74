// geohook as middleware in Koa: geohook verifies the request, then the next middleware gets the delivery and responds.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: npm install geohook koa koa-bodyparser
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/koa'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'

// A receiver without handlers passes verified deliveries to the next middleware.
const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: { refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`) },
})
const verify = webhook(receiver)

async function parcels(ctx) {
  const { changeTypes, events } = ctx.state.delivery
  for (const event of events) console.log(`${event.changeType} on ${event.service.serviceName}`)
  ctx.body = { received: changeTypes }
}

const app = new Koa()
app.use((ctx, next) => (ctx.path === '/hooks/parcels' ? verify(ctx, () => parcels(ctx)) : next()))
app.use(bodyParser()) // after the webhook, because the signature covers the raw bytes
app.use((ctx) => {
  if (ctx.path === '/layers' && ctx.method === 'POST') ctx.body = { added: ctx.request.body.name }
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

closeOnSignal(server, receiver)
