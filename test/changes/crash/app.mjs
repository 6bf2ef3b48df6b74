// The receiver that the test kills. Its handler writes the changes of each event to a log, synchronously, so that a kill
// loses no line. It uses the built package.
import { randomUUID } from 'node:crypto'
import { openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { createReceiver } from 'geohook'
import { createChanges, createSnapshots } from 'geohook/changes'
import { webhook } from 'geohook/node'

const { PORT, KEY, LOG, SERVICE, ENTRY, FACTORY, ROWS, OPTIONS, COALESCE } = process.env
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
const { lease: _, ...location } = JSON.parse(OPTIONS)
const snapshots = ROWS ? createSnapshots({ store: module[ROWS](location) }) : undefined

/** Names of the attempts, by their signal. A delivery with several events calls the handler for each of them. */
const attempts = new WeakMap()
const logged = new WeakSet()

const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', async (event, _, context) => {
  const attempt = attempts.get(context.signal) ?? randomUUID()
  // Functions run in reverse order: only the first one of an attempt runs after all rows were written.
  if (!attempts.has(context.signal)) context.onSuccess(() => write({ kind: 'success', attempt }))
  attempts.set(context.signal, attempt)
  const result = await changes.of(event, context)
  const compared = await snapshots?.compare(result, context)
  // Events with the same changes get the same comparison, which is logged once.
  const isNew = compared && !logged.has(compared)
  if (isNew) logged.add(compared)
  write({
    kind: event.kind ?? 'announced',
    attempt,
    layers: result.layers,
    compared: isNew ? compared : undefined,
  })
})
// One call at a time, so that an older state never overwrites a newer one in the copy.
inbox.work(receiver, COALESCE ? { coalesce: { by: 'service', wait: 20 } } : { concurrency: 1 })

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
