// A receiver on Deno, which needs no adapter: receiver.fetch takes a Request and returns a Response.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: deno add npm:geohook
import { createReceiver } from 'geohook'

const receiver = createReceiver({
  signatureKey: Deno.env.get('SIGNATURE_KEY'),
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))

const port = Number(Deno.env.get('PORT') ?? 3000)
const server = Deno.serve({ port, hostname: '127.0.0.1', onListen }, (request) => {
  const { pathname } = new URL(request.url)
  if (pathname === '/hooks/parcels') return receiver.fetch(request)
  return Response.json({ ok: pathname === '/health' }, { status: pathname === '/health' ? 200 : 404 })
})

function onListen(address: Deno.NetAddr) {
  console.log(`listening on http://127.0.0.1:${address.port}/hooks/parcels`)
}

async function stop() {
  setTimeout(() => Deno.exit(1), 5_000) // in case a handler never returns
  await receiver.close()
  await server.shutdown()
  Deno.exit()
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) Deno.addSignalListener(signal, stop)
