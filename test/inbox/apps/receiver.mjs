// Usage: `node receiver.mjs <store> <inbox|duplicates> <file>`. The receiver prints its port, and appends a line to the
// file for each handler call. For the change type `Stay`, the handler never ends in attempt 1.
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { openStore } from './stores.mjs'

const [store, mode, file] = process.argv.slice(2)
const { openInbox, openDuplicates } = await openStore(store, { lease: 10_000 })
const signatureKey = process.env.SIGNATURE_KEY

async function handle(event, { id }, { attempt }) {
  appendFileSync(file, `${id} ${attempt} ${process.pid}\n`)
  if (event.changeType === 'Stay' && attempt === 1) await new Promise(() => {})
  await new Promise((resolve) => setTimeout(resolve, 5))
}

let receiver
let inbox
if (mode === 'inbox') {
  inbox = openInbox()
  receiver = createReceiver({ signatureKey, inbox }).on('*', handle)
  inbox.work(receiver)
} else {
  receiver = createReceiver({ signatureKey, duplicates: openDuplicates() }).on('*', handle)
}
const server = createServer(webhook(receiver)).listen(0, '127.0.0.1', () => {
  process.stdout.write(`port ${server.address().port}\n`)
})
