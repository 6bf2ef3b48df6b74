// Measures what a backlog costs: the calls of an inbox that holds 1,000,000 deliveries, relative to one of the same
// engine that holds 1,000; and batches, relative to the same work by hand with SQL.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createReceiver } from 'geohook'
import { STORES } from './backlog/stores.mjs'
import { number, spread, times, versionsOf } from './report.mjs'
import { interleave, ratio, summarize } from './rounds.mjs'

const FULL = { few: 1_000, many: 1_000_000, rounds: 25, batches: 5, batch: 5_000 }
const SMOKE = { few: 200, many: 2_000, rounds: 2, batches: 1, batch: 300 }

const CHANGES_URL =
  'https://gis.example.com/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[1,2]'
const events = [{ eventType: 'FeaturesCreated', changesUrl: CHANGES_URL, when: 1_700_000_000_000 }]
const rawBody = new TextEncoder().encode(JSON.stringify({ events, pad: 'x'.repeat(800) }))

export const newDelivery = () => ({
  id: randomBytes(16).toString('hex'),
  rawBody,
  contentType: 'application/json',
  headers: { 'content-type': 'application/json', 'x-service': 'a'.repeat(64), host: 'parcels.example' },
  receivedAt: new Date(),
  profile: 'service',
  keyIndex: 0,
  payload: {},
  events,
  changeTypes: ['FeaturesCreated'],
})

/** The calls whose costs must not grow. `state.after` is the cursor of a page in the middle. */
const CALLS = {
  put: ({ inbox }) => inbox.put(newDelivery()),
  stats: ({ inbox }) => inbox.stats(),
  'list, first page': ({ inbox }) => inbox.list({ limit: 100 }),
  'list, last page': ({ inbox }) => inbox.list({ limit: 100, order: 'newest' }),
  'list, a page in the middle': ({ inbox, after }) => inbox.list({ limit: 100, after }),
  'list of a state, last page': ({ inbox }) => inbox.list({ state: 'dead', limit: 100, order: 'newest' }),
  'a sweep that finds nothing': ({ inbox }) => inbox.purge({ state: 'done', olderThan: 86_400_000 }),
}

const timeOf = async (work) => {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/** Opens two stores of an engine, with few and with many rows. A tenth of them are done, and a tenth dead. */
async function openBoth(engine, { few, many }, say) {
  const [small, large] = [await STORES[engine](), await STORES[engine]()]
  say(`${engine}: creating ${number(many)} deliveries`)
  await small.fill(few)
  await large.fill(many)
  for (const store of [small, large]) {
    store.inbox = store.open()
    const { entries, next } = await store.inbox.list({ limit: 100 })
    assert.ok(entries.length === 100 && next)
    store.after = await store.middle()
  }
  return [small, large]
}

async function measureCalls(engine, [small, large], { rounds }) {
  const rows = []
  const figures = {}
  for (const [name, call] of Object.entries(CALLS)) {
    const measured = await interleave([small, large], {
      rounds,
      warmup: 2,
      measure: (store) => timeOf(() => call(store)),
    })
    const relative = ratio(measured.get(large), measured.get(small))
    figures[`backlog/${engine}/${name.replace(/\W+/g, '-')}`] = relative
    rows.push([
      engine,
      name,
      ...[small, large].map((store) => spread(summarize(measured.get(store)))),
      times(relative),
    ])
  }
  return { rows, figures }
}

/** Reads all pages of the dead letters, and retries them, relative to one `update` by hand. */
async function measureDead([, large], { batches }) {
  const dead = (await large.inbox.stats()).dead
  const pages = async () => {
    let [seen, after] = [0, undefined]
    do {
      const page = await large.inbox.list({ state: 'dead', limit: 1_000, after })
      seen += page.entries.length
      after = page.next
    } while (after)
    assert.equal(seen, dead)
  }
  const times = { pages: [], retry: [], hand: [] }
  for (let round = 0; round < batches; round++) {
    times.pages.push(await timeOf(pages))
    times.retry.push(await timeOf(async () => assert.equal(await large.inbox.retry({ state: 'dead' }), dead)))
    times.hand.push(await timeOf(() => large.buryAgain()))
  }
  return { dead, times }
}

/** Counts how many deliveries 50 workers handle per second, in an inbox that holds nothing else. */
async function handleAll(store, count) {
  await putAll(store, count)
  let left = count
  let resolve
  const all = new Promise((done) => {
    resolve = done
  })
  const observed = store.open({ observer: { handled: () => --left === 0 && resolve() } })
  const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', () => {})
  await observed.stats() // connects
  const started = performance.now()
  observed.work(receiver, { concurrency: 50 })
  await all
  const rate = (count / (performance.now() - started)) * 1_000
  await observed.close()
  return rate
}

async function putAll({ inbox }, count) {
  let left = count
  const started = performance.now()
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      while (left-- > 0) assert.equal(await inbox.put(newDelivery()), 'stored')
    }),
  )
  return (count / (performance.now() - started)) * 1_000
}

async function measureRates(engine, { batches, batch }) {
  const store = await STORES[engine]()
  store.inbox = store.open()
  await store.inbox.stats()
  const rates = { put: [], putByHand: [], handle: [], handleByHand: [] }
  for (let round = -1; round < batches; round++) {
    const measured = {
      put: await putAll(store, batch),
      handle: await handleAll(store, batch),
      ...(await store.byHand(batch, newDelivery)),
    }
    if (round >= 0) for (const [name, rate] of Object.entries(measured)) rates[name].push(rate)
  }
  await store.inbox.close()
  await store.remove()
  return rates
}

/** The time of a put while a million deliveries are purged, relative to a put at rest. */
async function measurePurge([, large]) {
  const putTimes = async (until) => {
    const times = []
    while (!until() || times.length < 5) {
      times.push(await timeOf(() => large.inbox.put(newDelivery())))
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    // At most a thousand figures, because summarize() computes powers of two.
    const step = Math.ceil(times.length / 1_000)
    return summarize(times.filter((_, index) => index % step === 0))
  }
  let rounds = 0
  const atRest = await putTimes(() => rounds++ > 100)
  await large.endAll()
  let purged = false
  const purging = large.inbox.purge({ state: 'done' }).then((removed) => {
    purged = true
    return removed
  })
  const meanwhile = await putTimes(() => purged)
  return { removed: await purging, atRest, meanwhile }
}

/** @type {import('./report.mjs').Run} */
export async function run({ smoke, say, engines = ['sqlite', 'postgres'] }) {
  const options = smoke ? SMOKE : FULL
  const [calls, batches, figures, pages] = [[], [], {}, new Map()]
  const add = (engine, name, measured, base, what, isRate) => {
    const relative = ratio(measured, base)
    figures[`backlog/${engine}/${name}`] = relative
    batches.push([
      engine,
      what,
      ...[measured, base].map((list) => spread(summarize(list))),
      times(relative),
      isRate,
    ])
  }
  for (const engine of engines.filter((name) => STORES[name])) {
    const rates = await measureRates(engine, options)
    const stores = await openBoth(engine, options, say)
    try {
      const measured = await measureCalls(engine, stores, options)
      calls.push(...measured.rows)
      Object.assign(figures, measured.figures)
      const { dead, times: dying } = await measureDead(stores, options)
      const letters = `${number(dead)} dead letters`
      add(
        engine,
        'handled',
        rates.handle,
        rates.handleByHand,
        'handled/s by 50 workers; by hand: 50 in a statement',
        '/s',
      )
      add(engine, 'puts', rates.put, rates.putByHand, 'put/s, 50 at once; by hand: 50 in a statement', '/s')
      add(engine, 'retry', dying.retry, dying.hand, `retry of ${letters}; by hand: one update`, 'ms')
      pages.set(engine, dying.pages)
      const purge = await measurePurge(stores)
      figures[`backlog/${engine}/purge`] = ratio([purge.meanwhile.median], [purge.atRest.median])
      calls.push([
        engine,
        `put while ${number(purge.removed)} are purged, and at rest`,
        spread(purge.atRest),
        spread(purge.meanwhile),
        times(figures[`backlog/${engine}/purge`]),
      ])
    } finally {
      for (const store of stores) {
        await store.inbox?.close()
        await store.remove()
      }
    }
  }
  if (pages.size === 2) {
    figures['backlog/postgres/pages'] = ratio(pages.get('postgres'), pages.get('sqlite'))
    const both = ['postgres', 'sqlite'].map((name) => spread(summarize(pages.get(name))))
    batches.push([
      'postgres',
      'all pages of the dead letters; instead of by hand: SQLite',
      ...both,
      times(figures['backlog/postgres/pages']),
      'ms',
    ])
  }
  return {
    tables: [
      {
        title: `milliseconds of a call: with ${number(options.few)} deliveries, and with ${number(options.many)}`,
        columns: ['inbox', 'call', number(options.few), number(options.many), 'ratio'],
        rows: calls,
      },
      {
        title: 'many deliveries: through the inbox, and by hand with SQL in the same tables',
        columns: ['inbox', 'what', 'inbox', 'by hand', 'ratio', 'unit'],
        rows: batches,
      },
    ],
    figures,
    versions: versionsOf(['pg']),
  }
}
