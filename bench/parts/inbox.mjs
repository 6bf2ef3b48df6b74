// Measures the cost of a durable inbox: deliveries that a receiver accepts per second with each engine, relative to a
// receiver without an inbox, and puts without HTTP, relative to the underlying package. All receivers run at the same
// time. The part fails if a response is not 202 (200 without an inbox), or if the inbox lacks a delivery.
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { GOALS } from '../goals.mjs'
import { ENGINES } from '../inbox/engines.mjs'
import { accept } from '../inbox/load.mjs'
import { startSubject } from '../inbox/subject.mjs'
import { number, spread, times } from '../lib/format.mjs'
import { interleave, ratio, summarize } from '../lib/rounds.mjs'
import { sqliteVersion, versionsOf } from '../lib/versions.mjs'

/** `counts` and `putCounts`: deliveries per round, by concurrency. `handling`: milliseconds to observe the workers. */
const FULL = {
  rounds: 7,
  counts: { 1: 200, 50: 1_000 },
  putCounts: { 1: 200, 50: 2_000 },
  workingRounds: 3,
  workingCount: 300,
  handling: 1_500,
}
const SMOKE = {
  rounds: 1,
  counts: { 1: 5, 50: 50 },
  putCounts: { 1: 5, 50: 50 },
  workingRounds: 1,
  workingCount: 50,
  handling: 500,
}

/** Starts the requested engines, which must be available; by default, all available engines. */
async function startAll(requested, say) {
  const subjects = []
  for (const name of requested ?? Object.keys(ENGINES)) {
    let store
    try {
      assert.ok(ENGINES[name], `unknown engine: the engines are ${Object.keys(ENGINES).join()}`)
      store = await ENGINES[name]()
      subjects.push(await startSubject(name, store))
    } catch (error) {
      await store?.remove?.()
      if (!requested) {
        say(`skipping ${name}: ${error.message}`)
        continue
      }
      await closeAll(subjects)
      throw new Error(`the inbox ${name} cannot be measured`, { cause: error })
    }
  }
  return subjects
}

async function closeAll(subjects) {
  for (const subject of subjects) await subject.close()
}

async function requireAll(subject) {
  if (subject.hasInbox) assert.equal(await subject.ask('held'), subject.accepted, `${subject.name} holds all`)
}

/** Measures how many deliveries per second 50 workers handle, and how many the receiver accepts while they run. */
async function measureWorking(subject, { workingCount, handling }) {
  await accept(subject, workingCount, 50)
  const pending = await subject.ask('pending')
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

async function measureAccepting(subjects, { rounds, counts }) {
  const [rows, points, figures] = [[], [], {}]
  for (const [atOnce, count] of Object.entries(counts)) {
    const measured = await interleave(subjects, {
      rounds,
      seconds: 10,
      measure: (subject) => accept(subject, count, Number(atOnce)),
    })
    const ratesOf = (subject) => measured.get(subject).map(({ rate }) => rate)
    const none = subjects.find(({ name }) => name === 'none')
    for (const subject of subjects) {
      const rate = summarize(ratesOf(subject))
      const latencies = ['p50', 'p99'].map((part) =>
        number(summarize(measured.get(subject).map((figure) => figure[part])).median, 2),
      )
      const relative = none && ratio(ratesOf(subject), ratesOf(none))
      if (relative && atOnce === '50') figures[`inbox/http/${subject.name}`] = relative
      rows.push([subject.name, atOnce, spread(rate), ...latencies, relative ? times(relative) : '-'])
      points.push({
        series: `${atOnce} at once`,
        x: subject.name,
        y: rate.median,
        low: rate.low,
        high: rate.high,
      })
    }
  }
  for (const subject of subjects) await requireAll(subject)
  return { rows, points, figures }
}

/** Measures puts without HTTP, and jobs added directly with pg-boss or BullMQ, in the process of each receiver. */
async function measureDirectPuts(subjects, { rounds, putCounts }) {
  const [rows, figures] = [[], {}]
  const inboxes = subjects.filter(({ hasInbox }) => hasInbox)
  const candidates = inboxes.flatMap((subject) => [
    { subject, question: 'put' },
    ...(subject.hasByHand ? [{ subject, question: 'byHand' }] : []),
  ])
  for (const [atOnce, count] of Object.entries(putCounts)) {
    const measured = await interleave(candidates, {
      rounds,
      seconds: 6,
      async measure({ subject, question }) {
        const rate = await subject.ask(question, { count, concurrency: Number(atOnce) })
        if (question === 'put') subject.accepted += count
        return rate
      },
    })
    const ratesOf = (subject, question) =>
      measured.get(
        candidates.find((candidate) => candidate.subject === subject && candidate.question === question),
      )
    for (const subject of inboxes) {
      const [puts, byHand] = [ratesOf(subject, 'put'), ratesOf(subject, 'byHand')]
      const relative = byHand && ratio(puts, byHand)
      if (relative && atOnce === '50') figures[`inbox/put/${subject.name}`] = relative
      const cells = byHand ? [spread(summarize(byHand)), times(relative)] : ['-', '-']
      rows.push([subject.name, atOnce, spread(summarize(puts)), ...cells])
    }
  }
  for (const subject of inboxes) {
    await subject.ask('endByHand')
    await requireAll(subject)
  }
  return { rows, figures }
}

async function measureHandling(subjects, options) {
  const inboxes = subjects.filter(({ hasInbox }) => hasInbox)
  const measured = await interleave(inboxes, {
    rounds: options.workingRounds,
    warmup: 0,
    measure: (subject) => measureWorking(subject, options),
  })
  return subjects.map((subject) => {
    const figures = measured.get(subject)
    const cell = (part) => (figures ? spread(summarize(figures.map((figure) => figure[part]))) : '-')
    return [subject.name, cell('handling'), cell('rate'), subject.durability]
  })
}

/** Returns the goals that were not measured. Goals over HTTP need both the engine and the baseline without an inbox. */
function leftOutOf(subjects) {
  const names = subjects.map(({ name }) => name)
  const isMeasured = (kind, engine) => names.includes(engine) && (kind === 'put' || names.includes('none'))
  return GOALS.map(({ id }) => id).filter((id) => {
    const [part, kind, engine] = id.split('/')
    return part === 'inbox' && !isMeasured(kind, engine)
  })
}

/** @type {import('../lib/part.mjs').Run} */
export async function run({ smoke, say, engines }) {
  const options = smoke ? SMOKE : FULL
  const subjects = await startAll(engines, say)
  try {
    const { rows, points, figures } = await measureAccepting(subjects, options)
    say('measuring puts without HTTP')
    const puts = await measureDirectPuts(subjects, options)
    say('measuring workers')
    const handling = await measureHandling(subjects, options)
    return {
      tables: [
        {
          title:
            'inbox: deliveries accepted per second and their response times, relative to a receiver without an inbox',
          columns: ['inbox', 'sent at once', 'accepted/s', 'p50 ms', 'p99 ms', 'vs none'],
          rows,
        },
        {
          title:
            'inbox: puts per second without HTTP, relative to jobs that the underlying package adds one by one (pg-boss `send`, BullMQ `Queue.add`)',
          columns: ['inbox', 'put at once', 'puts/s', 'by hand/s', 'vs by hand'],
          rows: puts.rows,
        },
        {
          title: 'inbox: deliveries that 50 workers handle per second, and deliveries accepted meanwhile',
          columns: ['inbox', 'handled/s', 'accepted/s meanwhile', 'durability'],
          rows: handling,
        },
      ],
      figures: { ...figures, ...puts.figures },
      leftOut: leftOutOf(subjects),
      plots: [
        {
          name: 'inbox',
          title: 'inbox: deliveries accepted per second',
          kind: 'bars',
          x: '',
          y: 'per second',
          points,
        },
      ],
      versions: { ...sqliteVersion(), ...versionsOf(['pg', 'pg-boss', 'ioredis', 'bullmq', 'undici']) },
    }
  } finally {
    await closeAll(subjects)
  }
}
