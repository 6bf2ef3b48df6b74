// Structured logs with pino: one line for each request, and the error of a failed handler in the log.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: npm install geohook pino
import { createServer } from 'node:http'
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import pino from 'pino'

const log = pino()

const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: {
    handled: ({ delivery, milliseconds }) =>
      log.info({ delivery: delivery.id, changeTypes: delivery.changeTypes, milliseconds }, 'handled'),
    duplicate: ({ delivery }) => log.info({ delivery: delivery.id }, 'duplicate'),
    refused: ({ error }) => log.warn({ code: error.code, hint: error.hint }, `refused: ${error.code}`),
    // Under the name `err`, pino's serializer logs the message and the stack trace of what the handler has thrown.
    failed: ({ delivery, error }) => log.error({ delivery: delivery.id, err: error.cause }, 'failed'),
  },
})
  .on('FeaturesCreated', (event) => log.info(`created on ${event.service.serviceName}`))
  .on('FeaturesDeleted', () => {
    throw new Error('the archive is read-only') // to show how a failure is logged
  })

const hook = webhook(receiver)
const server = createServer((req, res) =>
  req.url === '/hooks/parcels' ? hook(req, res) : res.writeHead(404).end(),
)
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  log.info(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

closeOnSignal(server, receiver)
