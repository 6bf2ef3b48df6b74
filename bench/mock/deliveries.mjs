import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { start } from '../lib/child.mjs'
import { spread, times } from '../lib/format.mjs'
import { interleave, ratio, summarize } from '../lib/rounds.mjs'
import { recordRequest, SENDERS } from './senders.mjs'

const file = (name) => fileURLToPath(new URL(name, import.meta.url))
const BASE = 'undici Pool.request'
/** Milliseconds of a measurement, and of the warm-up. V8 keeps optimizing for about 100,000 deliveries. */
const SLICE = 150
const WARM_UP = 4000
/** Number of process starts, and of rounds per start. One start is not enough: some processes stay slower. */
const STARTS = 2
const ROUNDS = 18

/** Starts all senders on one core, and the receiver on another. */
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

/** Measures deliveries per second, and CPU time per delivery. Fails if the receiver did not get all deliveries. */
async function measure({ name, child, count }, receiver) {
  const { milliseconds, microsecondsUsed } = await child.ask({ count })
  const { received } = await receiver.ask({ check: false })
  assert.equal(received, count, `${name}: each was received once`)
  return { rate: (count / milliseconds) * 1000, used: microsecondsUsed / count }
}

/** Warms up a sender, whose first deliveries are several times slower. Sets `count`, its deliveries per measurement. */
async function warmUp(sender, receiver) {
  const started = performance.now()
  while (performance.now() - started < WARM_UP)
    sender.count = Math.ceil(((await measure(sender, receiver)).rate * SLICE) / 1000)
}

/** Checks before the measurement that all requests of a sender arrive and verify. */
async function requireRight({ name, child, count }, receiver) {
  await receiver.ask({ check: true })
  await child.ask({ count })
  const answer = await receiver.ask({ check: false })
  assert.deepEqual(answer, { received: count, right: count }, `${name}: all requests verify`)
}

/** Starts all processes once, and returns the figures by sender name. */
async function measureOnce({ smoke }) {
  const { receiver, senders, all } = await startAll()
  try {
    for (const sender of senders) {
      await requireRight(sender, receiver)
      if (!smoke) await warmUp(sender, receiver)
    }
    const measured = await interleave(senders, {
      rounds: smoke ? 1 : ROUNDS,
      seconds: 5,
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
      title: `mock: deliveries sent per second, 50 at once, each response read completely; relative to ${BASE}`,
      columns: ['', 'deliveries/s', 'ratio', 'CPU µs per delivery'],
      rows: results.map(({ name, rate, ratio, used }) => [name, spread(rate), times(ratio), spread(used)]),
    },
    results,
  }
}
