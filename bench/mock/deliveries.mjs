import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { start } from '../lib/child.mjs'
import { spread, times } from '../lib/format.mjs'
import { interleave, ratio, summarize } from '../lib/rounds.mjs'
import { recordRequest, SENDERS } from './senders.mjs'

const file = (name) => fileURLToPath(new URL(name, import.meta.url))
const BASE = 'undici Pool.request'
/** Milliseconds of one measurement, and of what comes before all of them: compiling goes on for a hundred thousand deliveries. */
const SLICE = 150
const WARM_UP = 5000

/** Starts every sender on one core, and what they send to on another. */
async function startAll() {
  const receiver = await start(file('receiver.mjs'), { core: 1 })
  const { url } = receiver.ready
  const request = await recordRequest(url)
  const senders = []
  for (const name of Object.keys(SENDERS)) {
    const child = await start(file('sender.mjs'), { core: 0, args: [name, url] })
    await child.ask({ request })
    senders.push({ name, child, count: 100 })
  }
  return { receiver, senders, all: [receiver, ...senders.map(({ child }) => child)] }
}

/** Deliveries per second, and what each takes of the core; it fails where the receiver has not got every one of them. */
async function measure({ name, child, count }, receiver) {
  const { milliseconds, microsecondsUsed } = await child.ask({ count })
  const { received } = await receiver.ask({ check: false })
  assert.equal(received, count, `${name}: each was received once`)
  return { rate: (count / milliseconds) * 1000, used: microsecondsUsed / count }
}

/** Sends until it is warm, and finds how many deliveries fill a slice then: of those that come first each takes some times as long. */
async function warmUp(sender, receiver) {
  const started = performance.now()
  while (performance.now() - started < WARM_UP)
    sender.count = Math.ceil(((await measure(sender, receiver)).rate * SLICE) / 1000)
}

/** Before anything is measured: what each of them sends is signed, and arrives. */
async function requireRight({ name, child, count }, receiver) {
  await receiver.ask({ check: true })
  await child.ask({ count })
  const answer = await receiver.ask({ check: false })
  assert.deepEqual(answer, { received: count, right: count }, `${name} sends what verifies`)
}

export async function measureDeliveries({ smoke }) {
  const { receiver, senders, all } = await startAll()
  try {
    for (const sender of senders) {
      await requireRight(sender, receiver)
      if (!smoke) await warmUp(sender, receiver)
    }
    const measured = await interleave(senders, {
      rounds: smoke ? 1 : 25,
      warmup: smoke ? 0 : 3,
      measure: (sender) => measure(sender, receiver),
    })
    const ratesOf = (sender) => measured.get(sender).map(({ rate }) => rate)
    const base = ratesOf(senders.find(({ name }) => name === BASE))
    const results = senders.map((sender) => ({
      name: sender.name,
      rate: summarize(ratesOf(sender)),
      ratio: ratio(ratesOf(sender), base),
      used: summarize(measured.get(sender).map(({ used }) => used)),
    }))
    return {
      table: {
        title: `mock: deliveries sent a second, 50 at once, each answer read to its end; beside ${BASE}`,
        columns: ['', 'deliveries/s', 'beside it', 'µs of the core for each'],
        rows: results.map(({ name, rate, ratio, used }) => [name, spread(rate), times(ratio), spread(used)]),
      },
      results,
    }
  } finally {
    for (const child of all) await child.close()
  }
}
