// Measures the cost of a durable inbox: deliveries that a receiver accepts per second with each engine, relative to a
// receiver without an inbox, and deliveries that its workers handle. All receivers run at the same time. The part fails
// if a response is not 202 (200 without an inbox), or if the inbox lacks a delivery.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createSigner } from 'geohook/testing'
import { Pool } from 'undici'
import { start } from './child.mjs'
import { ENGINES } from './inbox/engines.mjs'
import { KEY } from './payloads.mjs'
import { number, ROOT, spread, times, versionsOf } from './report.mjs'
import { interleave, ratio, summarize } from './rounds.mjs'

/** `counts`: deliveries per round, by concurrency. `handling`: milliseconds to observe the workers. */
const FULL = {
  rounds: 7,
  counts: { 1: 200, 50: 1_000 },
  workingRounds: 3,
  workingCount: 300,
  handling: 1_500,
}
const SMOKE = { rounds: 1, counts: { 1: 5, 50: 50 }, workingRounds: 1, workingCount: 50, handling: 500 }

const RECEIVER = fileURLToPath(new URL('inbox/receiver.mjs', import.meta.url))
const signer = createSigner({ signatureKey: KEY })
let count = 0

/** Creates a unique signed delivery of 1 KiB. */
async function sign() {
  const event = { eventType: 'FeaturesCreated', when: 1_700_000_000_000 + count++ }
  const payload = { serviceName: 'Parcels', events: [event], pad: '' }
  payload.pad = 'x'.repeat(1024 - JSON.stringify(payload).length)
  const { method, headers, bytes } = await signer.sign(payload)
  return { method, headers, body: bytes }
}

/** Sends `total` deliveries over `concurrency` connections. Returns deliveries per second and response times. */
async function accept(subject, total, concurrency) {
  const requests = await Promise.all(Array.from({ length: total }, sign))
  const pool = subject.connections(concurrency)
  const durations = []
  async function sendAll() {
    for (let request = requests.pop(); request; request = requests.pop()) {
      const started = performance.now()
      const { statusCode, body } = await pool.request({ path: '/', ...request })
      await body.dump()
      durations.push(performance.now() - started)
      assert.equal(statusCode, subject.hasInbox ? 202 : 200, `the status of ${subject.name}`)
    }
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: concurrency }, sendAll))
  const rate = (total / (performance.now() - started)) * 1000
  subject.accepted += total
  durations.sort((a, b) => a - b)
  const at = (part) => durations[Math.min(total - 1, Math.floor(total * part))]
  return { rate, p50: at(0.5), p99: at(0.99) }
}

/** Starts a receiver in a separate process, and opens keep-alive connections to it. */
async function startSubject(name) {
  assert.ok(ENGINES[name], `unknown engine: the engines are ${Object.keys(ENGINES).join()}`)
  const { durability, remove, ...store } = await ENGINES[name]()
  try {
    const child = await start(RECEIVER, { args: [JSON.stringify(store)] })
    const pools = new Map()
    return {
      name,
      durability,
      hasInbox: store.entry !== undefined,
      accepted: 0,
      ask: child.ask,
      connections(count) {
        if (!pools.has(count)) {
          const options = { connections: count, pipelining: 1 }
          pools.set(count, new Pool(`http://127.0.0.1:${child.ready}`, options))
        }
        return pools.get(count)
      },
      async close() {
        for (const pool of pools.values()) await pool.close()
        await child.ask('close')
        await child.close()
        await remove?.()
      },
    }
  } catch (error) {
    await remove?.()
    throw error
  }
}

/** Starts the requested engines, which must be available; by default, all available engines. */
async function startAll(requested, say) {
  const subjects = []
  for (const name of requested ?? Object.keys(ENGINES)) {
    try {
      subjects.push(await startSubject(name))
    } catch (error) {
      if (!requested) {
        say(`skipping ${name}: ${error.message}`)
        continue
      }
      for (const subject of subjects) await subject.close()
      throw new Error(`the inbox ${name} cannot be measured`, { cause: error })
    }
  }
  return subjects
}

async function requireAll({ name, hasInbox, accepted, ask }) {
  if (hasInbox) assert.equal((await ask('stored')).all, accepted, `${name} holds all deliveries`)
}

async function measureAccepting(subjects, { rounds, counts }) {
  const [rows, figures] = [[], {}]
  for (const [atOnce, count] of Object.entries(counts)) {
    const measured = await interleave(subjects, {
      rounds,
      seconds: 10,
      measure: (subject) => accept(subject, count, Number(atOnce)),
    })
    const figuresOf = (subject, part) => measured.get(subject).map((figure) => figure[part])
    const none = subjects.find(({ name }) => name === 'none')
    for (const subject of subjects) {
      const rates = figuresOf(subject, 'rate')
      const latencies = ['p50', 'p99'].map((part) => number(summarize(figuresOf(subject, part)).median, 2))
      const relative = none && ratio(rates, figuresOf(none, 'rate'))
      if (relative && atOnce === '50') figures[`inbox/${subject.name}`] = relative
      rows.push([
        subject.name,
        atOnce,
        spread(summarize(rates)),
        ...latencies,
        relative ? times(relative) : '-',
      ])
    }
  }
  for (const subject of subjects) await requireAll(subject)
  return { rows, figures }
}

/** Measures how many deliveries per second 50 workers handle, and how many the receiver accepts while they run. */
async function measureWorking(subject, { workingCount, handling }) {
  await accept(subject, workingCount, 50)
  const { pending } = await subject.ask('stored')
  const started = performance.now()
  await subject.ask('work')
  let progress
  do {
    await setTimeout(20)
    progress = await subject.ask('handled')
  } while (progress.handled < pending && performance.now() - started < handling)
  const { rate } = await accept(subject, workingCount, 50)
  await subject.ask('rest')
  await requireAll(subject)
  return { handling: (progress.handled / progress.milliseconds) * 1000, rate }
}

/** The version of the SQLite driver that receivers use, preferably node:sqlite. Empty without a driver. */
function sqliteVersion() {
  if (isBuiltin('node:sqlite')) return { 'node:sqlite': process.versions.sqlite }
  return existsSync(join(ROOT, 'node_modules/better-sqlite3')) ? versionsOf(['better-sqlite3']) : {}
}

/** @type {import('./report.mjs').Run} */
export async function run({ smoke, say, engines }) {
  const options = smoke ? SMOKE : FULL
  const subjects = await startAll(engines, say)
  try {
    const { rows, figures } = await measureAccepting(subjects, options)
    say('measuring workers')
    const working = await interleave(
      subjects.filter(({ hasInbox }) => hasInbox),
      {
        rounds: options.workingRounds,
        warmup: 0,
        measure: (subject) => measureWorking(subject, options),
      },
    )
    const handling = subjects.map((subject) => {
      const measured = working.get(subject)
      const cell = (part) => (measured ? spread(summarize(measured.map((figure) => figure[part]))) : '-')
      return [subject.name, cell('handling'), cell('rate'), subject.durability]
    })
    return {
      tables: [
        {
          title:
            'inbox: deliveries accepted per second and their response times, relative to a receiver without an inbox',
          columns: ['inbox', 'sent at once', 'accepted/s', 'p50 ms', 'p99 ms', 'vs none'],
          rows,
        },
        {
          title: 'inbox: deliveries that 50 workers handle per second, and deliveries accepted meanwhile',
          columns: ['inbox', 'handled/s', 'accepted/s meanwhile', 'durability'],
          rows: handling,
        },
      ],
      figures,
      versions: { ...sqliteVersion(), ...versionsOf(['pg', 'undici']) },
    }
  } finally {
    for (const subject of subjects) await subject.close()
  }
}
