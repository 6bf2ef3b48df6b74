// The receiver that the test kills. It uses the built package, and writes its log synchronously, so that a kill loses
// no line. Over a pipe, it reports its progress to the test, with the letters in `plan.ts`.
import { openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'

const { PORT, KEY, LOG, CONCURRENCY, ENTRY, FACTORY, OPTIONS, WAIT, HANDLES } = process.env
const PIPE = 3
/** Maximum milliseconds to wait until the inbox opens. The server may be down, or the machine may be slow. */
const OPEN_TIMEOUT = 60_000
const log = openSync(LOG, 'a')
const write = (line) => writeSync(log, `${line} ${Date.now()}\n`)
const report = (point) => writeSync(PIPE, point)

/** The sender's job ids, by delivery id. */
const jobs = new Map()
/** A process can report that a delivery is recorded although an earlier process has handled it. */
const jobOf = ({ id, rawBody }) => jobs.get(id) ?? JSON.parse(new TextDecoder().decode(rawBody)).jobId
const print = ({ error }) => console.error(error)
const observer = {
  handled: ({ delivery }) => write(`settled ${jobOf(delivery)}`),
  failed: print,
  dead: print,
  trouble: print,
}

const module = await import(ENTRY)
report('o')
const inbox = await module[FACTORY]({ ...JSON.parse(OPTIONS), observer })
// Once stats() resolves, the inbox is open.
for (const until = Date.now() + OPEN_TIMEOUT; ; ) {
  try {
    await inbox.stats()
    break
  } catch (error) {
    if (Date.now() > until) throw error
    await setTimeout(100)
  }
}

const reportingInbox = {
  ...inbox,
  put(delivery) {
    report('p')
    return inbox.put(delivery)
  },
}
const receiver = createReceiver({ signatureKey: KEY, inbox: reportingInbox }).on(
  HANDLES,
  async (event, delivery, { together = { deliveries: [delivery], events: [event] } }) => {
    const ids = together.events.map(({ jobId }) => jobId)
    together.deliveries.forEach(({ id }, index) => {
      jobs.set(id, ids[index])
    })
    write(`begin ${ids}`)
    report('h')
    requireWindow(event, together.events)
    await setTimeout(event.taskName.length % 25)
    // One line for all deliveries: a kill cannot separate them.
    write(`success ${ids}`)
    report('e')
  },
)

/** Throws if the window of a joined event does not cover the windows of its events. */
function requireWindow(event, events) {
  const windows = events.filter(({ changesUrl }) => changesUrl).map(windowOf)
  if (windows.length === 0) return
  const [min, max] = windowOf(event)
  const covered = [Math.min(...windows.map(([from]) => from)), Math.max(...windows.map(([, to]) => to))]
  if (min !== covered[0] || max !== covered[1]) throw new Error(`[${min},${max}] instead of [${covered}]`)
}

const windowOf = ({ changesUrl }) => JSON.parse(new URL(changesUrl).searchParams.get('serverGens'))

const coalesce = WAIT ? { by: 'service', wait: Number(WAIT) } : undefined
inbox.work(receiver, { concurrency: Number(CONCURRENCY), coalesce })

const receive = webhook(receiver)
const server = createServer(async (req, res) => {
  if (req.url !== '/stats') return receive(req, res)
  try {
    res.end(JSON.stringify(await inbox.stats()))
  } catch (error) {
    print({ error })
    res.writeHead(503).end()
  }
})
server.listen(Number(PORT), '127.0.0.1', () => report('l'))

process.once('SIGTERM', async () => {
  server.close()
  await receiver.close()
  await inbox.close()
  // These handles would keep the process alive.
  process.stdin.destroy()
  server.closeAllConnections()
})
// If the test process exits, stdin ends. Then this process exits too.
process.stdin.on('end', () => process.exit()).resume()
