// Measures what a durable inbox costs: deliveries that a receiver accepts a second with each engine, beside one that has
// no inbox and runs its handlers before it answers. All receivers are up at once, and the rounds of all are interleaved.
// It fails where an answer is not 202 (200 without an inbox), or the inbox does not hold every delivery.
//
//   npm run bench:inbox -- [--engines none,memory,sqlite,postgres,redis] [--smoke]
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ENGINES } from './bench-inbox/engines.mjs'
import { accept } from './bench-inbox/load.mjs'
import { startSubject } from './bench-inbox/subject.mjs'

const { values } = parseArgs({
  options: {
    engines: { type: 'string', default: Object.keys(ENGINES).join() },
    smoke: { type: 'boolean', default: false },
  },
})
/** Rounds, and deliveries in one, by how many are sent at a time. */
const ROUNDS = values.smoke ? 1 : 5
const COUNTS = values.smoke ? { 1: 5, 50: 50 } : { 1: 200, 50: 1_000 }
/** With workers a round takes longer: there are fewer, with fewer deliveries. */
const WORKING_ROUNDS = values.smoke ? 1 : 3
const WORKING_COUNT = values.smoke ? 50 : 300
/** Milliseconds that handling is measured, where the inbox is not empty before. */
const HANDLING = values.smoke ? 500 : 1_500

const median = (all) => [...all].sort((a, b) => a - b)[all.length >> 1]
const byName = (rounds, name) => rounds.map((round) => round.get(name))

/** Measures every subject once in each round, each round beginning with another. */
async function interleave(subjects, rounds, measure) {
  const measured = []
  for (let round = 0; round < rounds; round++) {
    const figures = new Map()
    for (const [index] of subjects.entries()) {
      const subject = subjects[(index + round) % subjects.length]
      figures.set(subject.name, await measure(subject))
    }
    measured.push(figures)
  }
  return measured
}

async function requireAll(subject) {
  if (subject.hasInbox) assert.equal(await subject.ask('held'), subject.accepted, `${subject.name} holds all`)
}

/** Deliveries that 50 workers handle a second from a full inbox, and then what is accepted while they go on. */
async function measureWorking(subject) {
  await accept(subject, WORKING_COUNT, 50)
  const pending = await subject.ask('pending')
  const started = performance.now()
  await subject.ask('work')
  let seen
  do {
    await setTimeout(20)
    seen = await subject.ask('handled')
  } while (seen.handled < pending && performance.now() - started < HANDLING)
  const { rate } = await accept(subject, WORKING_COUNT, 50)
  await subject.ask('rest')
  await requireAll(subject)
  return { handling: (seen.handled / seen.milliseconds) * 1000, rate }
}

const subjects = []
for (const name of values.engines.split(',')) {
  let store
  try {
    store = await ENGINES[name]()
    subjects.push(await startSubject(name, store))
  } catch (error) {
    console.log(`${name} is left out: ${error.message}`)
    await store?.remove?.()
  }
}

const number = (value, digits = 0) => value.toFixed(digits)
const spread = (all) => `${number(median(all))} (${number(Math.min(...all))}-${number(Math.max(...all))})`
const rows = [['inbox', 'at once', 'accepted/s', 'p50 ms', 'p99 ms', 'ratio']]
for (const concurrency of [1, 50]) {
  const measure = (subject) => accept(subject, COUNTS[concurrency], concurrency)
  await interleave(subjects, 1, measure) // warms up
  const rounds = await interleave(subjects, ROUNDS, measure)
  for (const { name } of subjects) {
    const figures = byName(rounds, name)
    // Of each round by itself: what else the machine does meanwhile slows all of it.
    const ratios = rounds.map((round) => round.get(name).rate / (round.get('none')?.rate ?? Number.NaN))
    const rates = spread(figures.map(({ rate }) => rate))
    const times = ['p50', 'p99'].map((part) => number(median(figures.map((figure) => figure[part])), 2))
    rows.push([name, String(concurrency), rates, ...times, number(median(ratios), 2)])
  }
}
for (const subject of subjects) await requireAll(subject)

const workingRows = [['inbox', 'handled/s, 50 at once', 'accepted/s meanwhile', 'durability']]
const inboxes = subjects.filter(({ hasInbox }) => hasInbox)
const working = await interleave(inboxes, WORKING_ROUNDS, measureWorking)
for (const { name, durability, hasInbox } of subjects) {
  const figures = hasInbox ? byName(working, name) : []
  const [handling, rate] = hasInbox
    ? ['handling', 'rate'].map((part) => spread(figures.map((figure) => figure[part])))
    : ['-', '-']
  workingRows.push([name, handling, rate, durability])
}

for (const table of [rows, workingRows]) {
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)))
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trim(),
    )
  console.log()
}
for (const subject of subjects) await subject.close()
