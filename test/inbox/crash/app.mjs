// The receiver that is killed: the built package, as a user would use it. It writes its log at once, so that a kill
// takes no line back, and tells the test where it is over a pipe of its own (plan.ts has the letters).
import { openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'

const { PORT, KEY, LOG, CONCURRENCY, ENTRY, FACTORY, OPTIONS } = process.env
const TELL = 3
/** Milliseconds to open the inbox: the server may be down, and a loaded machine is slow. */
const OPEN_WITHIN = 60_000
const log = openSync(LOG, 'a')
const write = (line) => writeSync(log, `${line} ${Date.now()}\n`)
const tell = (point) => writeSync(TELL, point)

/** What the sender calls a delivery, by its id here. */
const jobs = new Map()
const print = ({ error }) => console.error(error)
const observer = {
  handled: ({ delivery }) => write(`settled ${jobs.get(delivery.id)}`),
  failed: print,
  dead: print,
  trouble: print,
}

const module = await import(ENTRY)
tell('o')
const inbox = await module[FACTORY]({ ...JSON.parse(OPTIONS), observer })
// It has opened when it can answer.
for (const until = Date.now() + OPEN_WITHIN; ; ) {
  try {
    await inbox.stats()
    break
  } catch (error) {
    if (Date.now() > until) throw error
    await setTimeout(100)
  }
}

const told = {
  ...inbox,
  put(delivery) {
    tell('p')
    return inbox.put(delivery)
  },
}
const receiver = createReceiver({ signatureKey: KEY, inbox: told }).on('*', async (event, delivery) => {
  const { jobId, taskName } = event
  jobs.set(delivery.id, jobId)
  write(`begin ${jobId}`)
  tell('h')
  await setTimeout(taskName.length % 25)
  write(`success ${jobId}`)
})
inbox.work(receiver, { concurrency: Number(CONCURRENCY) })

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
server.listen(Number(PORT), '127.0.0.1', () => tell('l'))

process.once('SIGTERM', async () => {
  server.close()
  await receiver.close()
  await inbox.close()
  // What is left open would keep it alive, and the test would wait for its end in vain.
  process.stdin.destroy()
  server.closeAllConnections()
})
// The test is gone.
process.stdin.on('end', () => process.exit()).resume()
