import { number, spread } from '../lib/format.mjs'
import { sizeName } from '../lib/payloads.mjs'
import { ratio, summarize } from '../lib/rounds.mjs'
import { versionsOf } from '../lib/versions.mjs'
import { measureStalled } from '../memory/stalled.mjs'
import { measureUploads } from '../memory/uploads.mjs'
import { measureVerdict, timesOf } from '../memory/verdict.mjs'

const MIB = 1024 ** 2
const LIMIT = 6 * MIB

const FULL = {
  verdict: { size: 5 * MIB, limit: LIMIT, rounds: 30, tickRounds: 15, warmup: 5 },
  few: { count: 16, size: 5 * MIB, limit: LIMIT, rounds: 15 },
  many: { count: 200, size: MIB, rounds: 3 },
  stalled: { count: 1000, size: 100_000, bodyTimeout: 2000, alone: 1000 },
}
const SMOKE = {
  verdict: { size: 5 * MIB, limit: LIMIT, rounds: 2, tickRounds: 1, warmup: 1 },
  few: { count: 2, size: 5 * MIB, limit: LIMIT, rounds: 1 },
  many: { count: 5, size: MIB, rounds: 1 },
  stalled: { count: 50, size: 100_000, bodyTimeout: 300, alone: 50 },
}

const names = {
  geohook: 'geohook/node',
  rawBody: 'raw-body by hand, hashing on arrival',
  byHand: 'by hand: chunks, Buffer.concat, createHmac',
  octokitVerify: "octokit's verify",
  octokit: "octokit's middleware",
}

/** @type {import('../lib/part.mjs').Run} */
export async function run({ smoke, say }) {
  const plan = smoke ? SMOKE : FULL
  say(`from the last byte of ${sizeName(plan.verdict.size)} to the verdict`)
  const verdicts = await measureVerdict(['geohook', 'rawBody', 'byHand', 'octokitVerify'], plan.verdict)
  const listeners = ['geohook', 'rawBody', 'byHand', 'octokit']
  say(`${plan.few.count} uploads at once`)
  const few = await measureUploads(listeners, plan.few)
  say(`${plan.many.count} uploads at once`)
  const many = await measureUploads(listeners, plan.many)
  say(`${plan.stalled.count} uploads that stall`)
  const stalled = await measureStalled(plan.stalled)
  return {
    tables: [
      verdictTable(verdicts, plan.verdict),
      uploadTable(few, plan.few),
      uploadTable(many, plan.many),
      stalledTable(stalled, plan.stalled),
    ],
    figures: {
      'memory/verdict': ratio(timesOf(verdicts.get('geohook')), timesOf(verdicts.get('rawBody'))),
      'memory/uploads': ratio(few.get('geohook'), few.get('rawBody')),
    },
    plots: [verdictPlot(verdicts, plan.verdict), uploadPlot([few, plan.few], [many, plan.many])],
    versions: versionsOf(['@octokit/webhooks']),
  }
}

const milliseconds = (figures) => spread(summarize(figures), (value) => number(value, 2))

function verdictTable(verdicts, { size }) {
  return {
    title: `From the last byte of ${sizeName(size)} to the verdict, ms`,
    columns: [
      'receiver',
      'invalid signature',
      'valid signature, unknown content type',
      'longest event loop tick',
    ],
    rows: [...verdicts].map(([name, { wrong, right, tick }]) => [
      names[name],
      milliseconds(wrong),
      milliseconds(right),
      milliseconds(tick),
    ]),
  }
}

const uploadsName = ({ count, size }) => `${count} × ${sizeName(size)}`

function uploadTable(uploads, plan) {
  return {
    // The title describes the JSON, because the figures include parsing it.
    title: `Uploads at once, ${uploadsName(plan)} of JSON with one long text, including parsing: peak memory over idle per upload, in bodies`,
    columns: ['receiver', 'bodies'],
    rows: [...uploads].map(([name, figures]) => [names[name], spread(summarize(figures))]),
  }
}

function stalledTable(stalled, { count, bodyTimeout }) {
  const { bytesEach, bytesEachByHand, timedOut, endedAfter, timesAlone, timesMeanwhile } = stalled
  const sorted = [...endedAfter].sort((a, b) => a - b)
  return {
    title: `${count} uploads that stall after their first bytes, bodyTimeout ${bodyTimeout} ms`,
    columns: ['', 'geohook/node'],
    rows: [
      ['memory per upload: geohook, by hand', `${kib(bytesEach)}, ${kib(bytesEachByHand)}`],
      ['ended with 408', `${timedOut} of ${count}`],
      ['earliest and latest end', `${number(sorted[0])}, ${number(sorted.at(-1))} ms`],
      ['other requests meanwhile: p50, p99', percentiles(timesMeanwhile)],
      ['the same requests without the uploads: p50, p99', percentiles(timesAlone)],
    ],
  }
}

const kib = (bytes) => `${number(bytes / 1024, 1)} KiB`

function percentiles(times) {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (part) => `${number(sorted[Math.round((sorted.length - 1) * part)], 2)} ms`
  return `${at(0.5)}, ${at(0.99)}`
}

const TO_VERDICT = 'last byte to verdict'

function verdictPlot(verdicts, { size }) {
  const points = [...verdicts].flatMap(([name, verdict]) => {
    const bar = (series, { median, low, high }) => ({ series, x: names[name], y: median, low, high })
    return [
      bar(TO_VERDICT, summarize(timesOf(verdict))),
      bar('longest event loop tick', summarize(verdict.tick)),
    ]
  })
  return {
    name: 'memory-verdict',
    title: `An upload of ${sizeName(size)}`,
    kind: 'bars',
    x: 'receiver',
    y: 'milliseconds',
    points,
  }
}

function uploadPlot(...measured) {
  const points = measured.flatMap(([uploads, plan]) =>
    [...uploads].map(([name, figures]) => {
      const { median, low, high } = summarize(figures)
      return { series: uploadsName(plan), x: names[name], y: median, low, high }
    }),
  )
  return {
    name: 'memory-uploads',
    title: 'Peak memory over idle of uploads at once',
    kind: 'bars',
    x: 'receiver',
    y: 'bodies per upload',
    points,
  }
}
