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
const WARM_UP = 4000
/** How often all processes are started anew, and rounds with each: where its memory lies makes one faster than the next for as long as it lives. */
const STARTS = 2
const ROUNDS = 18

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

/** Figures of one start, by the names of the senders. */
async function measureOnce({ smoke }) {
  const { receiver, senders, all } = await startAll()
  try {
    for (const sender of senders) {
      await requireRight(sender, receiver)
      if (!smoke) await warmUp(sender, receiver)
    }
    const measured = await interleave(senders, {
      rounds: smoke ? 1 : ROUNDS,
      warmup: smoke ? 0 : 2,
      measure: (sender) => measure(sender, receiver),
    })
    return new Map([...measured].map(([{ name }, figures]) => [name, figures]))
  } finally {
    for (const child of all) await child.close()
  }
}

export async function measureDeliveries({ smoke }) {
  const starts = []
  for (let start = 0; start < (smoke ? 1 : STARTS); start++) starts.push(await measureOnce({ smoke }))
  const figuresOf = (name) => starts.flatMap((figures) => figures.get(name))
  const ratesOf = (name) => figuresOf(name).map(({ rate }) => rate)
  const base = ratesOf(BASE)
  const results = Object.keys(SENDERS).map((name) => ({
    name,
    rate: summarize(ratesOf(name)),
    ratio: ratio(ratesOf(name), base),
    used: summarize(figuresOf(name).map(({ used }) => used)),
  }))
  return {
    table: {
      title: `mock: deliveries sent a second, 50 at once, each answer read to its end; beside ${BASE}`,
      columns: ['', 'deliveries/s', 'beside it', 'µs of the core for each'],
      rows: results.map(({ name, rate, ratio, used }) => [name, spread(rate), times(ratio), spread(used)]),
    },
    results,
  }
}
