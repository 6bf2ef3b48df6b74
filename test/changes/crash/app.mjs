// The receiver that the test kills. Its handler writes the changes of each event to a log, synchronously, so that a kill
// loses no line. It uses the built package.
import { openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { createReceiver } from 'geohook'
import { createChanges } from 'geohook/changes'
import { webhook } from 'geohook/node'

const { PORT, KEY, LOG, SERVICE, ENTRY, FACTORY, OPTIONS } = process.env
const log = openSync(LOG, 'a')
const write = (line) => writeSync(log, `${JSON.stringify({ at: Date.now(), ...line })}\n`)
const report = (error) => console.error(error)

const module = await import(ENTRY)
const observer = { failed: ({ error }) => report(error), dead: ({ error }) => report(error), trouble() {} }
const inbox = module[FACTORY]({ ...JSON.parse(OPTIONS), retryDelay: 50, maxRetryDelay: 500, observer })
const changes = createChanges({
  origins: [new URL(SERVICE).origin],
  inbox,
  pollInterval: { min: 5, max: 50 },
})

const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', async (event, _, context) => {
  const { layers } = await changes.of(event, context)
  write({ kind: event.kind ?? 'announced', layers })
  context.onSuccess(() => write({ kind: 'success' }))
})
// One handler at a time, so that an older state never overwrites a newer one in the copy.
inbox.work(receiver, { concurrency: 1 })

const server = createServer(webhook(receiver))
server.listen(Number(PORT), '127.0.0.1')

const catchUp = changes.catchUp({ services: [SERVICE], every: 250, onError: report })
await catchUp.poll()
write({ kind: 'ready' })

process.once('SIGTERM', async () => {
  server.close()
  await catchUp.close()
  await receiver.close()
  await inbox.close()
  server.closeAllConnections()
  process.stdin.destroy()
})
