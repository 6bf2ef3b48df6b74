// A receiver that mirrors a feature service into a database: all layers and attachments.
// Start it in this folder, with the URL of the service as the payloads spell it:
//   npm install && SIGNATURE_KEY=<the webhook's signatureKey> SERVICE_URL=https://…/FeatureServer npm start
// TOKEN is a token for the service, if it requires one. With DATABASE_URL, the copy and the inbox are in PostgreSQL,
// otherwise in the SQLite files MIRROR and INBOX. EVERY is the number of milliseconds between two polls for lost
// deliveries. compose.yaml starts the app with PostgreSQL and a mock service.
// In your own app: npm install geohook, for PostgreSQL also pg, for SQLite before Node 22.13 better-sqlite3
import { createServer } from 'node:http'
import { closeOnSignal, createReceiver } from 'geohook'
import { createChanges } from 'geohook/changes'
import { webhook } from 'geohook/node'
import { createPostgresInbox } from 'geohook/postgres'
import { createSqliteInbox } from 'geohook/sqlite'
import { openMirror } from './mirror.js'
import { createSync } from './sync.js'

const {
  SIGNATURE_KEY,
  SERVICE_URL = 'http://127.0.0.1:4000/rest/services/Parcels/FeatureServer',
  TOKEN: token,
  DATABASE_URL,
  INBOX_SCHEMA,
  INBOX = 'inbox.db',
  MIRROR = 'mirror.db',
  EVERY = '60000',
  HOST = '127.0.0.1',
  PORT = '3000',
} = process.env

// The services of catchUp and the URLs of payloads have no slash at the end.
const service = SERVICE_URL.replace(/\/$/, '')

const options = {
  timeout: 600_000, // longer than the maximum duration of an extraction, which is 5 minutes
  observer: {
    failed: ({ attempt, error }) => console.log(`attempt ${attempt} failed: ${error.errors?.[0] ?? error}`),
    dead: ({ delivery }) => console.error(`dead letter: ${delivery.id}`),
    trouble: ({ error }) => console.error('the inbox is unavailable:', error.message),
  },
}
const inbox = DATABASE_URL
  ? createPostgresInbox({ connectionString: DATABASE_URL, schema: INBOX_SCHEMA, ...options })
  : createSqliteInbox({ path: INBOX, ...options })

const changes = createChanges({ ...(token && { token }), origins: [new URL(service).origin], inbox })

const receiver = createReceiver({
  signatureKey: SIGNATURE_KEY,
  inbox,
  observer: { refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`) },
}).on('*', async (event, _delivery, context) => {
  console.log(`${event.changeType} on ${event.service.serviceName}`)
  if (event.changesUrl?.startsWith(`${service}/`)) await sync.apply(event, context)
  else console.log(`ignored: it is not about features of ${service}`)
})

const mirror = await openMirror({ url: DATABASE_URL, path: MIRROR })
const sync = createSync({ mirror, changes })

// One call handles all deliveries that arrive within a second, or during the previous call.
const workers = inbox.work(receiver, { coalesce: { by: 'service', wait: 1000 } })

const hook = webhook(receiver)
const server = createServer((req, res) =>
  req.url === '/hooks/parcels' ? hook(req, res) : res.writeHead(404).end(),
)
server.listen(Number(PORT), HOST, () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

// Makes the first copy, and gets changes whose deliveries were lost.
const catchUp = changes.catchUp({
  services: [service],
  every: Number(EVERY),
  resync: sync.copy,
  onError: (error) => console.error(`${error.code ?? 'copy failed'}: ${error.message}. ${error.hint ?? ''}`),
})

closeOnSignal(server, receiver, {
  async after() {
    await catchUp.close()
    await workers.close() // waits for running handlers, at most 5 seconds
    await inbox.close()
    await mirror.close()
  },
})
