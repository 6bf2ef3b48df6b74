import { createHmac } from 'node:crypto'
import { explain } from '../../dist/index.js'
import { goalOf } from '../goals.mjs'
import { digits, scale, spread } from '../lib/format.mjs'
import { KEY, sizeName } from '../lib/payloads.mjs'
import { countFor, interleave, ratio, summarize } from '../lib/rounds.mjs'

/** 64 KiB is the largest body that gets the expensive hypotheses, and 1 MiB the default limit of a receiver. */
const SIZES = [256, 1024, 16 * 1024, 64 * 1024, 1024 ** 2]

/** Kinds of bodies. JSON is the most expensive one, because it can be written in many notations. */
const BODIES = { JSON: eventsBody, text: (size) => Buffer.alloc(size, 'no payload, just text\n') }

/** A payload with as many events as fit, of exactly `size` bytes. Every member exercises another hypothesis. */
function eventsBody(size) {
  const event = {
    eventType: 'FeaturesCreated',
    when: 1730385704000,
    url: 'https://gis.example/a?b=1&c=\u00fc',
    at: [1.5, 2],
  }
  const events = [event]
  const write = (padding) =>
    Buffer.from(JSON.stringify({ serviceName: `<${'x'.repeat(padding)}>`, extent: {}, events }))
  while (write(0).length + Buffer.byteLength(JSON.stringify(event)) + 1 <= size) events.push(event)
  if (write(0).length > size)
    return Buffer.from(JSON.stringify({ events: [], name: 'x'.repeat(size) })).subarray(0, size)
  return write(size - write(0).length)
}

/** The signature of something else, so that `explain` tests hypotheses until it reaches the limit on its work. */
const SIGNATURE = createHmac('sha256', 'another key').update('another body').digest('hex')

/** Headers with values that other schemes sign. */
const HEADERS = {
  'x-service': SIGNATURE,
  'content-type': 'application/json',
  'x-timestamp': '1730385704',
  'x-request-id': 'f8a2',
  host: 'gis.example',
}

/** Returns the mean milliseconds of `count` consecutive calls. */
async function time(call, count) {
  const started = performance.now()
  for (let index = 0; index < count; index++) await call()
  return (performance.now() - started) / count
}

async function measureCell(size, kind, smoke) {
  const body = BODIES[kind](size)
  const subjects = [
    { call: () => createHmac('sha256', KEY).update(body).digest() },
    {
      call: async () => {
        const { cause } = await explain({ body, headers: HEADERS, signatureKey: KEY, url: '/hooks/parcels' })
        if (cause !== 'unexplained') throw new Error(`explain says ${cause}`)
      },
    },
  ]
  for (const subject of subjects)
    subject.count = smoke ? 1 : await countFor((count) => time(subject.call, count))
  const figures = await interleave(subjects, {
    rounds: smoke ? 1 : 15,
    seconds: 1.2,
    warmup: smoke ? 0 : 2,
    measure: ({ call, count }) => time(call, count),
  })
  const [base, own] = subjects.map((subject) => figures.get(subject))
  return { base: summarize(base), own: summarize(own), ratio: ratio(own, base) }
}

const figureId = (size, kind) => `explain/${kind}/${sizeName(size).replace(' ', '')}`

/** @type {import('../lib/part.mjs').Run} */
export async function run({ smoke, say }) {
  const [rows, points, figures] = [[], [], {}]
  for (const size of SIZES) {
    const cells = []
    for (const kind of Object.keys(BODIES)) {
      const { base, own, ratio } = await measureCell(size, kind, smoke)
      figures[figureId(size, kind)] = ratio
      cells.push(`${spread(scale(base, 1000))} µs`, `${spread(own)} ms`, `${digits(ratio.median)}×`)
      points.push({ series: kind, x: sizeName(size), y: ratio.median, low: ratio.low, high: ratio.high })
      say(
        `${kind}, ${sizeName(size)}: explain takes ${digits(own.median)} ms, ${digits(ratio.median)}× one HMAC`,
      )
    }
    rows.push([sizeName(size), ...cells])
  }
  return {
    tables: [
      {
        title: 'explain: time of a diagnosis that finds no cause, relative to one HMAC of the body',
        columns: ['body', ...Object.keys(BODIES).flatMap((kind) => [`${kind}: HMAC`, 'explain', 'ratio'])],
        rows,
      },
    ],
    figures,
    plots: [
      {
        name: 'explain',
        title: 'explain: time of a diagnosis that finds no cause',
        kind: 'bars',
        x: '',
        y: 'times one HMAC of the body (log)',
        logY: true,
        goals: Object.keys(BODIES).map((series) => ({ series, y: goalOf(figureId(64 * 1024, series)) })),
        points,
      },
    ],
  }
}
