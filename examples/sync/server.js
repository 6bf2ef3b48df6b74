// A receiver that keeps a copy of a feature service in a database: all layers, with their attachments.
// Start it in this folder, with the URL of the service as it is in the payloads:
//   npm install && SIGNATURE_KEY=<the webhook's signatureKey> SERVICE_URL=https://…/FeatureServer npm start
// TOKEN is a token of the service, if it needs one. With DATABASE_URL, the copy and the inbox are in PostgreSQL,
// otherwise in the SQLite files MIRROR and INBOX. compose.yaml starts the app with PostgreSQL and a mock service.
// EVERY is the time between two polls for lost deliveries, in milliseconds.
// In your own app: npm install geohook, and pg and pg-boss for PostgreSQL, or better-sqlite3 before Node 22.13
import { createServer } from 'node:http'
import { createReceiver } from 'geohook'
import { createChanges } from 'geohook/changes'
import { closeOnSignal, webhook } from 'geohook/node'
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

const options = {
  timeout: 600_000, // longer than an extraction may take, which is 5 minutes
  observer: {
    failed: ({ attempt, error }) => console.log(`attempt ${attempt} failed: ${error.errors?.[0] ?? error}`),
    dead: ({ delivery }) => console.error(`dead letter: ${delivery.id}`),
    trouble: ({ error }) => console.error('the inbox is unavailable:', error.message),
  },
}
const inbox = DATABASE_URL
  ? createPostgresInbox({ connectionString: DATABASE_URL, schema: INBOX_SCHEMA, ...options })
  : createSqliteInbox({ path: INBOX, ...options })

const changes = createChanges({ ...(token && { token }), origins: [new URL(SERVICE_URL).origin], inbox })

const receiver = createReceiver({
  signatureKey: SIGNATURE_KEY,
  inbox,
  observer: { refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`) },
}).on('*', async (event, _delivery, context) => {
  console.log(`${event.changeType} on ${event.service.serviceName}`)
  if (event.changesUrl?.startsWith(`${SERVICE_URL}/`)) await sync.apply(event, context)
  else console.log(`ignored: it is not about features of ${SERVICE_URL}`)
})

const mirror = await openMirror({ url: DATABASE_URL, path: MIRROR })
const sync = createSync({ mirror, changes, token })

// One call for all deliveries that arrive within a second, or during the call before.
const workers = inbox.work(receiver, { coalesce: { by: 'service', wait: 1000 } })

const hook = webhook(receiver)
const server = createServer((req, res) =>
  req.url === '/hooks/parcels' ? hook(req, res) : res.writeHead(404).end(),
)
server.listen(Number(PORT), HOST, () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

// Makes the first copy, and finds changes whose deliveries were lost.
const catchUp = changes.catchUp({
  services: [SERVICE_URL],
  every: Number(EVERY),
  resync: sync.copy,
  onError: (error) => console.error(`${error.code ?? 'copy failed'}: ${error.message}. ${error.hint ?? ''}`),
})

closeOnSignal(server, receiver, {
  async after() {
    await catchUp.close()
    await workers.close() // waits for running handlers
    await inbox.close()
    await mirror.close()
  },
})
