// A receiver that a test brings into trouble. `OPTIONS` are options of the receiver as JSON; with `STORE`, it has an
// inbox in that SQLite file, which it does not open before the first delivery if `LAZY` is set. It prints its port and
// each delivery that it has handled. Lines on stdin are commands: `fill` opens files until no descriptor is left, `free`
// closes them, `work` starts workers, `handle` lets the handlers of `Wait` end, `measure` prints how many connections are open, and the memory in use.
import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { createSqliteInbox } from 'geohook/sqlite'

const { STORE, OPTIONS = '{}', SERVER = '{}', LEASE = '30000', LAZY } = process.env
const observer = {
  trouble() {},
  failed: ({ delivery, error }) => console.log(`failed ${delivery.id} ${error}`),
}
const inbox = STORE && createSqliteInbox({ path: STORE, lease: Number(LEASE), observer })
const log = {
  refused: ({ error }) => console.log(`refused ${error.code}`),
  failed: ({ error }) => console.log(`failed ${error.code} ${error.cause}`),
}
const options = {
  signatureKey: 'parcels2026',
  observer: log,
  ...JSON.parse(OPTIONS),
  ...(inbox && { inbox }),
}

let release
const gate = new Promise((resolve) => {
  release = resolve
})

const HANDLERS = {
  Wait: () => gate,
  Block() {
    console.log('blocked')
    for (const end = performance.now() + 1_600; performance.now() < end; );
  },
}
const receiver = createReceiver(options).on('*', async ({ changeType }, { id, payload }) => {
  console.log(`begun ${payload.number} ${id}`)
  await HANDLERS[changeType]?.()
  console.log(`handled ${payload.number}.`)
})
if (inbox && !LAZY) inbox.work(receiver)

const files = []
const COMMANDS = {
  fill() {
    try {
      for (;;) files.push(openSync('/dev/null'))
    } catch (error) {
      console.log(`full ${error.code}`)
    }
  },
  free() {
    for (const file of files.splice(0)) closeSync(file)
    console.log('freed')
  },
  work: () => inbox.work(receiver),
  handle: () => release(),
  measure() {
    const memory = process.memoryUsage().rss
    server.getConnections((_, count) => console.log(`${count} connections, ${memory} bytes.`))
  },
}
createInterface({ input: process.stdin }).on('line', (line) => COMMANDS[line]())

const hook = webhook(receiver)
const server = createServer({ keepAliveTimeout: 0, ...JSON.parse(SERVER) }, (req, res) => {
  if (req.method === 'POST') console.log(`request ${req.url}`)
  return hook(req, res)
})

// The packages that geohook loads in the background.
const packages = [
  'raw-body',
  ...(STORE && !process.getBuiltinModule('node:sqlite') ? ['better-sqlite3'] : []),
]
const { cache } = createRequire(import.meta.url)
const isLoaded = (name) => Object.keys(cache).some((file) => file.includes(`/node_modules/${name}/`))
while (!packages.every(isLoaded) && performance.now() < 5_000) await setTimeout(10)
server.listen(0, '127.0.0.1', 20_000, () => console.log(`port ${server.address().port}.`))
