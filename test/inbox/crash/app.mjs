// The receiver that the test kills. It uses the built package, and writes its log synchronously, so that a kill loses
// no line. Over a pipe, it reports its progress to the test, with the letters in `plan.ts`.
import { openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'

const { PORT, KEY, LOG, CONCURRENCY, ENTRY, FACTORY, OPTIONS, WAIT, HOLD, HANDLERS } = process.env
const PIPE = 3
/** Maximum milliseconds to wait until the inbox opens. The server may be down, or the machine may be slow. */
const OPEN_TIMEOUT = 60_000
const log = openSync(LOG, 'a')
const write = (line) => writeSync(log, `${line} ${process.hrtime.bigint()}\n`)
const report = (point) => writeSync(PIPE, point)

/** The sender's job ids, by delivery id. */
const jobs = new Map()
/** A process can report that a delivery is recorded although an earlier process has handled it. */
const jobOf = ({ id, rawBody }) => jobs.get(id) ?? JSON.parse(new TextDecoder().decode(rawBody)).jobId
const print = ({ error }) => console.error(error)
/** The log's name for what a handler does with a job. */
const toTask = (job, name) => (name === undefined ? job : `${job}/${name}`)
const writeEnd = (word, { delivery, handler, attempt }) =>
  write(`${word} ${toTask(jobOf(delivery), handler)} #${attempt}`)
class PlannedFailure extends Error {}
const observer = {
  handled: (event) => writeEnd('settled', event),
  // Any other error means that the failure is not recorded.
  failed: (event) => (event.error instanceof PlannedFailure ? writeEnd('settled', event) : print(event)),
  dead(event) {
    writeEnd('dead', event)
    if (!(event.error instanceof PlannedFailure)) print(event)
  },
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
const receiver = createReceiver({ signatureKey: KEY, inbox: reportingInbox })
for (const { changeType, failureRate = 0, ...options } of JSON.parse(HANDLERS))
  receiver.on(changeType, createHandler(options.name, failureRate), options)

/** Creates a handler that fails at random. */
function createHandler(name, failureRate) {
  return async (event, delivery, { attempt, together = { deliveries: [delivery], events: [event] } }) => {
    const ids = together.events.map(({ jobId }) => jobId)
    together.deliveries.forEach(({ id }, index) => {
      jobs.set(id, ids[index])
    })
    const tasks = `${ids.map((id) => toTask(id, name))} #${attempt}`
    write(`begin ${tasks}`)
    report('h')
    requireWindow(event, together.events)
    await setTimeout(event.taskName.length % 25)
    const isFailure = Math.random() < failureRate
    // One line for all deliveries: a kill cannot separate them.
    write(`${isFailure ? 'failure' : 'success'} ${tasks}`)
    report('e')
    if (isFailure) throw new PlannedFailure('planned')
  }
}

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
const order = HOLD ? { by: 'service', hold: Number(HOLD) } : undefined
inbox.work(receiver, { concurrency: Number(CONCURRENCY), coalesce, order })

const receive = webhook(receiver)
const reads = { '/stats': inbox.stats, '/fates': readFates }
const server = createServer(async (req, res) => {
  const read = reads[req.url]
  if (!read) return receive(req, res)
  try {
    res.end(JSON.stringify(await read()))
  } catch (error) {
    print({ error })
    res.writeHead(503).end()
  }
})
server.listen(Number(PORT), '127.0.0.1', () => report('l'))

/** Reads all fates twice: from `list()` and from `get()`. */
async function readFates() {
  const [listed, got, found] = [[], [], new Map()]
  const toFate = ({ id, handler, state, attempts }) => ({
    task: toTask(jobOf(found.get(id)), handler),
    state,
    attempts,
  })
  for (let after; ; ) {
    const { entries, next } = await inbox.list({ limit: 1_000, after })
    for (const entry of entries) {
      const { id } = entry
      if (!found.has(id)) {
        const { delivery, fates } = await inbox.get(id)
        found.set(id, delivery)
        got.push(...fates.map(toFate))
      }
      listed.push(toFate(entry))
    }
    if (next === undefined) return { listed, got }
    after = next
  }
}

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
