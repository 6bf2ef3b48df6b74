// A receiver with an inbox in PostgreSQL. compose.yaml starts it together with PostgreSQL and a mock service.
// Start all of them in this folder: docker compose up
// In your own app: npm install geohook pg
import { createServer } from 'node:http'
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { createPostgresInbox } from 'geohook/postgres'

const { SIGNATURE_KEY, DATABASE_URL, INBOX_SCHEMA, HOST = '127.0.0.1', PORT = '3000' } = process.env

const inbox = createPostgresInbox({
  connectionString: DATABASE_URL,
  schema: INBOX_SCHEMA, // default: geohook
  observer: {
    failed: ({ attempt, error }) => console.log(`attempt ${attempt} failed:`, error),
    dead: ({ delivery }) => console.error(`dead letter: ${delivery.id}`),
    trouble: ({ error }) => console.error('the inbox is unavailable:', error.message),
  },
})

const receiver = createReceiver({
  signatureKey: SIGNATURE_KEY,
  inbox,
  observer: { refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`) },
}).on('*', (event) => console.log(`${event.changeType} on ${event.service.serviceName}`))

const workers = inbox.work(receiver)

const hook = webhook(receiver)
const server = createServer((req, res) =>
  req.url === '/hooks/parcels' ? hook(req, res) : res.writeHead(404).end(),
)
server.listen(Number(PORT), HOST, () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

closeOnSignal(server, receiver, {
  async after() {
    await workers.close() // waits for running handlers
    await inbox.close()
  },
})
