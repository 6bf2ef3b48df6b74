// What a durable inbox costs: deliveries that a receiver accepts a second with each engine, beside one that has no inbox
// and runs its handlers before it answers; and what a put costs without HTTP, beside the package beneath it. All receivers
// are up at once. It fails where an answer is not 202 (200 without an inbox), or the inbox does not hold every delivery.
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { GOALS } from '../goals.mjs'
import { ENGINES } from '../inbox/engines.mjs'
import { accept } from '../inbox/load.mjs'
import { startSubject } from '../inbox/subject.mjs'
import { number, spread, times } from '../lib/format.mjs'
import { interleave, ratio, summarize } from '../lib/rounds.mjs'
import { sqliteVersion, versionsOf } from '../lib/versions.mjs'

/** Rounds, deliveries in one by how many are sent or put at a time, and milliseconds that workers are watched. */
const FULL = {
  rounds: 5,
  counts: { 1: 200, 50: 1_000 },
  aloneCounts: { 1: 200, 50: 2_000 },
  workingRounds: 3,
  workingCount: 300,
  handling: 1_500,
}
const SMOKE = {
  rounds: 1,
  counts: { 1: 5, 50: 50 },
  aloneCounts: { 1: 5, 50: 50 },
  workingRounds: 1,
  workingCount: 50,
  handling: 500,
}

/** Those that were asked for must be there; of all, those that cannot be reached are left out. */
async function startAll(asked, say) {
  const subjects = []
  for (const name of asked ?? Object.keys(ENGINES)) {
    let store
    try {
      assert.ok(ENGINES[name], `there are only ${Object.keys(ENGINES).join()}`)
      store = await ENGINES[name]()
      subjects.push(await startSubject(name, store))
    } catch (error) {
      await store?.remove?.()
      if (!asked) {
        say(`${name} is left out: ${error.message}`)
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

/** Deliveries that 50 workers handle a second from a full inbox, and then what is accepted while they go on. */
async function measureWorking(subject, { workingCount, handling }) {
  await accept(subject, workingCount, 50)
  const pending = await subject.ask('pending')
  const started = performance.now()
  await subject.ask('work')
  let seen
  do {
    await setTimeout(20)
    seen = await subject.ask('handled')
  } while (seen.handled < pending && performance.now() - started < handling)
  const { rate } = await accept(subject, workingCount, 50)
  await subject.ask('rest')
  await requireAll(subject)
  return { handling: (seen.handled / seen.milliseconds) * 1000, rate }
}

async function measureAccepting(subjects, { rounds, counts }) {
  const [rows, points, figures] = [[], [], {}]
  for (const [atOnce, count] of Object.entries(counts)) {
    const measured = await interleave(subjects, {
      rounds,
      measure: (subject) => accept(subject, count, Number(atOnce)),
    })
    const ratesOf = (subject) => measured.get(subject).map(({ rate }) => rate)
    const none = subjects.find(({ name }) => name === 'none')
    for (const subject of subjects) {
      const rate = summarize(ratesOf(subject))
      const latencies = ['p50', 'p99'].map((part) =>
        number(summarize(measured.get(subject).map((figure) => figure[part])).median, 2),
      )
      const beside = none && ratio(ratesOf(subject), ratesOf(none))
      if (beside && atOnce === '50') figures[`inbox/http/${subject.name}`] = beside
      rows.push([subject.name, atOnce, spread(rate), ...latencies, beside ? times(beside) : '-'])
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

/** Puts without HTTP, in the process of each receiver, and jobs that pg-boss or BullMQ adds there one by one. */
async function measureAlone(subjects, { rounds, aloneCounts }) {
  const [rows, figures] = [[], {}]
  const inboxes = subjects.filter(({ hasInbox }) => hasInbox)
  const askers = inboxes.flatMap((subject) => [
    { subject, question: 'put' },
    ...(subject.hasByHand ? [{ subject, question: 'byHand' }] : []),
  ])
  for (const [atOnce, count] of Object.entries(aloneCounts)) {
    const measured = await interleave(askers, {
      rounds,
      async measure({ subject, question }) {
        const rate = await subject.ask(question, { count, concurrency: Number(atOnce) })
        if (question === 'put') subject.accepted += count
        return rate
      },
    })
    const ratesOf = (subject, question) =>
      measured.get(askers.find((asker) => asker.subject === subject && asker.question === question))
    for (const subject of inboxes) {
      const [puts, byHand] = [ratesOf(subject, 'put'), ratesOf(subject, 'byHand')]
      const beside = byHand && ratio(puts, byHand)
      if (beside && atOnce === '50') figures[`inbox/put/${subject.name}`] = beside
      const cells = byHand ? [spread(summarize(byHand)), times(beside)] : ['-', '-']
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

/** Goals of engines that were not asked for, or that cannot be reached. Over HTTP they also need the baseline. */
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
    say('deliveries were accepted; now they are put without HTTP')
    const alone = await measureAlone(subjects, options)
    say('now they are handled')
    const handling = await measureHandling(subjects, options)
    return {
      tables: [
        {
          title:
            'inbox: deliveries that are accepted a second, milliseconds of their answers; beside no inbox',
          columns: ['inbox', 'sent at once', 'accepted/s', 'p50 ms', 'p99 ms', 'beside none'],
          rows,
        },
        {
          title:
            'inbox: puts a second without HTTP; beside jobs that the package beneath adds one by one (pg-boss `send`, BullMQ `Queue.add`)',
          columns: ['inbox', 'put at once', 'puts/s', 'by hand/s', 'beside by hand'],
          rows: alone.rows,
        },
        {
          title: 'inbox: deliveries that 50 workers handle a second, and what is accepted meanwhile',
          columns: ['inbox', 'handled/s', 'accepted/s meanwhile', 'durability'],
          rows: handling,
        },
      ],
      figures: { ...figures, ...alone.figures },
      leftOut: leftOutOf(subjects),
      plots: [
        {
          name: 'inbox',
          title: 'inbox: deliveries accepted a second',
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
