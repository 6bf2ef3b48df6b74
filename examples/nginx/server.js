// A receiver behind nginx. nginx.conf passes the body and the headers on unchanged, as the signature requires.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// and in another shell: nginx -p . -c nginx.conf. The payload URL is http://127.0.0.1:8080/hooks/parcels
// In your own app: npm install geohook
import { createServer } from 'node:http'
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/node'

const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error, request }) =>
      console.log(`refused: ${error.code} from ${request.headers['x-real-ip']}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))

const hook = webhook(receiver)
const server = createServer((req, res) =>
  req.url?.startsWith('/hooks/parcels') ? hook(req, res) : res.writeHead(404).end(),
)
// Longer than the 60 s for which nginx keeps an idle connection. Otherwise nginx may send a request on a connection
// that Node is closing, and answer it with 502.
server.keepAliveTimeout = 65_000
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

closeOnSignal(server, receiver)
