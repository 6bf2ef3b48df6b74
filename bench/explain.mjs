// Time of a diagnosis that finds no cause, relative to one HMAC of the body.
import { createHmac } from 'node:crypto'
import { explain } from 'geohook'
import { KEY, signature, sizeName } from './payloads.mjs'
import { digits, spread, times } from './report.mjs'
import { countFor, interleave, ratio, summarize } from './rounds.mjs'

/** 64 KiB is the largest body that gets the expensive hypotheses, and 1 MiB the default limit of a receiver. */
const SIZES = [1024, 64 * 1024, 1024 ** 2]

/** Kinds of bodies. JSON is the most expensive one, because it can be written in many notations. */
const BODIES = { JSON: eventsBody, text: (size) => Buffer.alloc(size, 'no payload, just text\n') }

/** A payload with as many events as fit, of exactly `size` bytes. Every member exercises another hypothesis. */
function eventsBody(size) {
  const url = 'https://gis.example/a?b=1&c=\u00fc'
  const event = { eventType: 'FeaturesCreated', when: 1730385704000, url, at: [1.5, 2] }
  const events = [event]
  const write = (padding) =>
    Buffer.from(JSON.stringify({ serviceName: `<${'x'.repeat(padding)}>`, extent: {}, events }))
  const each = Buffer.byteLength(JSON.stringify(event)) + 1
  while (write(0).length + each <= size) events.push(event)
  return write(size - write(0).length)
}

/** Headers with the signature of something else, and with values that other schemes sign. */
const HEADERS = {
  'x-service': signature('another body'),
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

async function measure(body, smoke) {
  const calls = [
    () => createHmac('sha256', KEY).update(body).digest(),
    async () => {
      const { cause } = await explain(
        { body, headers: HEADERS, url: '/hooks/parcels' },
        { signatureKey: KEY },
      )
      if (cause !== 'unexplained') throw new Error(`explain says ${cause}`)
    },
  ]
  const counts = new Map()
  for (const call of calls) counts.set(call, smoke ? 1 : await countFor((count) => time(call, count)))
  const figures = await interleave(calls, {
    rounds: smoke ? 1 : 15,
    seconds: 1.2,
    warmup: smoke ? 0 : 2,
    measure: (call) => time(call, counts.get(call)),
  })
  return calls.map((call) => figures.get(call))
}

/** @type {import('./report.mjs').Run} */
export async function run({ smoke, say }) {
  const [rows, figures] = [[], {}]
  for (const size of SIZES)
    for (const [kind, create] of Object.entries(BODIES)) {
      const [base, own] = await measure(create(size), smoke)
      const figure = ratio(own, base)
      figures[`explain/${kind}/${sizeName(size).replace(' ', '')}`] = figure
      rows.push([`${kind}, ${sizeName(size)}`, `${spread(summarize(own))} ms`, times(figure)])
      say(`${kind}, ${sizeName(size)}: explain takes ${digits(figure.median)}× one HMAC`)
    }
  const title = 'explain: time of a diagnosis that finds no cause, relative to one HMAC of the body'
  return { tables: [{ title, columns: ['body', 'time', 'vs one HMAC'], rows }], figures }
}
