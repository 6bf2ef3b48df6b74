// A receiver that the rotation test kills. It writes synchronously to its log, so that a kill loses no line.
import { appendFileSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { createReceiver } from 'geohook'
import { keyring, webhook } from 'geohook/node'

const { PORT, KEYRING, TOKEN, LOG, FAULTS } = process.env
const log = (line) => appendFileSync(LOG, `${line}\n`)

/** Number of failing attempts by the last digit of the event's time. The mock makes three attempts. */
const FAILURES = [2, 1, 1, 0, 0, 0, 0, 0, 0, 0]

/** Fails the first attempts of some deliveries. The folders count the attempts that arrive in all processes. */
function failFirst(when) {
  for (let number = 1; number <= FAILURES[when % 10]; number++) {
    try {
      mkdirSync(`${FAULTS}/${when}-${number}`)
    } catch {
      continue // an earlier attempt has failed with this number
    }
    throw new Error('planned')
  }
}

const receiver = createReceiver({
  profile: 'arcgis',
  signatureKey: keyring(KEYRING),
  inbox: {
    async put({ events }) {
      const times = events.map(({ when }) => when.getTime())
      if (FAULTS) times.forEach(failFirst)
      for (const when of times) log(`stored ${when}`)
    },
  },
  observer: { refused: ({ error }) => log(`refused ${error.code}`), failed() {} },
})

const receive = webhook(receiver)
const server = createServer(async (req, res) => {
  if (req.url !== '/stats') return receive(req, res)
  if (req.headers.authorization !== `Bearer ${TOKEN}`) return res.writeHead(401).end()
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(await receiver.stats()))
})
server.listen(Number(PORT), '127.0.0.1', () => console.log('listening'))

// If the test process exits, stdin ends. Then this process exits too.
process.stdin.on('end', () => process.exit()).resume()
