// A receiver with a durable inbox: it stores each delivery on disk, responds, and then handles the delivery.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// Before Node 22.13, geohook needs better-sqlite3: in a clone, npm run drivers; otherwise, npm install
// better-sqlite3 in the folder in which you have installed geohook.
// INBOX is the path of the SQLite file. In your own app: npm install geohook
import { createServer } from 'node:http'
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { createSqliteInbox } from 'geohook/sqlite'

const { SIGNATURE_KEY, INBOX = 'inbox.db', PORT = '3000' } = process.env

const inbox = createSqliteInbox({
  path: INBOX,
  attempts: 5,
  retryDelay: 200,
  observer: {
    failed: ({ attempt, error }) => console.log(`attempt ${attempt} failed: ${error.errors?.[0] ?? error}`),
    dead: ({ delivery }) => console.error(`dead letter: geohook inbox show ${delivery.id} --store ${INBOX}`),
    trouble: ({ error }) => console.error('the inbox is unavailable:', error.message),
  },
})

const receiver = createReceiver({
  signatureKey: SIGNATURE_KEY,
  inbox,
  observer: { refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`) },
}).on('*', async (event, delivery, { attempt }) => {
  // The first attempt fails, to show a retry.
  if (attempt === 1) throw new Error('the database is restarting')
  console.log(
    `${event.changeType} on ${event.service.serviceName}, delivery ${delivery.id}, attempt ${attempt}`,
  )
})

const workers = inbox.work(receiver, { concurrency: 4 })

const hook = webhook(receiver)
const server = createServer(async (req, res) => {
  if (req.url === '/hooks/parcels') return hook(req, res)
  if (req.url !== '/health') return res.writeHead(404).end()
  const stats = await inbox.stats().catch(() => undefined)
  res
    .writeHead(stats ? 200 : 503, { 'content-type': 'application/json' })
    .end(JSON.stringify({ ok: !!stats, ...stats }))
})
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

closeOnSignal(server, receiver, {
  async after() {
    await workers.close() // waits for running handlers
    await inbox.close()
  },
})
