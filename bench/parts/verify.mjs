import { goalOf } from '../goals.mjs'
import { collectYoung } from '../lib/collect-young.mjs'
import { digits, scale, spread, times } from '../lib/format.mjs'
import { formBody, jsonBody, sizeName } from '../lib/payloads.mjs'
import { countFor, interleave, ratio, summarize } from '../lib/rounds.mjs'
import { versionsOf } from '../lib/versions.mjs'
import { isTrue, requireRight } from '../verify/check.mjs'
import { geohook } from '../verify/geohook.mjs'
import { handWritten } from '../verify/hand-written.mjs'
import { octokitMethods, octokitWebhooks } from '../verify/octokit.mjs'
import { standardWebhooks, svix } from '../verify/standard.mjs'
import { stripe } from '../verify/stripe.mjs'
import { tern } from '../verify/tern.mjs'

/** The first subject is the baseline of the others. */
const SUBJECTS = [handWritten, geohook, octokitMethods, octokitWebhooks, stripe, standardWebhooks, svix, tern]
const SIZES = [256, 1024, 16 * 1024, 256 * 1024, 5 * 1024 ** 2]
const FORMATS = { json: jsonBody, form: formBody }
const ENCODINGS = ['hex', 'base64']
/** Milliseconds per measurement. Longer than the default, because each measurement includes a garbage collection. */
const SLICE = 15

/** Returns the mean milliseconds of `count` consecutive calls, including the collection of their garbage. */
async function time({ verify, isRight = isTrue, header }, body, count) {
  collectYoung()
  const started = performance.now()
  for (let call = 0; call < count; call++) {
    // Awaits only promises, because a needless `await` would add to the cost of the subject.
    const result = verify(body, header)
    if (!isRight(result instanceof Promise ? await result : result)) throw new Error('verification failed')
  }
  collectYoung()
  return (performance.now() - started) / count
}

/** Measures one size, format and encoding: milliseconds and ratio of each subject that supports it. */
async function measureCell(size, format, encoding, smoke) {
  const body = FORMATS[format](size)
  const subjects = []
  for (const { name, prepare } of SUBJECTS) {
    const subject = prepare(encoding, format)
    if (!subject) continue
    await requireRight(`${name}, ${format}, ${encoding}, ${sizeName(size)}`, subject, body)
    subjects.push({ name, ...subject, header: subject.sign(body) })
  }
  for (const subject of subjects)
    subject.count = smoke ? 1 : await countFor((count) => time(subject, body, count), SLICE)
  const figures = await interleave(subjects, {
    rounds: smoke ? 1 : 25,
    seconds: 1.2,
    warmup: smoke ? 0 : 1,
    measure: (subject) => time(subject, body, subject.count),
  })
  const base = figures.get(subjects[0])
  return new Map(
    subjects.map((subject) => {
      const own = figures.get(subject)
      return [
        subject.name,
        {
          milliseconds: summarize(own),
          ratio: ratio(own, base),
          ratios: own.map((time, round) => time / base[round]),
        },
      ]
    }),
  )
}

const figureId = (size) => `verify/${sizeName(size).replace(' ', '')}`

const cellText = (result, isBase) => {
  if (!result) return '-'
  return isBase ? `${spread(scale(result.milliseconds, 1000))} µs` : times(result.ratio)
}

/** @type {import('../lib/part.mjs').Run} */
export async function run({ smoke, say }) {
  const [tables, points, figures] = [[], [], {}]
  for (const size of SIZES) {
    const cells = []
    for (const format of Object.keys(FORMATS))
      for (const encoding of ENCODINGS)
        cells.push({ format, encoding, results: await measureCell(size, format, encoding, smoke) })

    const rows = SUBJECTS.map(({ name }, index) => [
      name,
      ...cells.map(({ results }) => cellText(results.get(name), index === 0)),
    ])
    tables.push({
      title: `verify, ${sizeName(size)}: time per call; hand-written in microseconds, the others relative to it`,
      columns: ['', ...cells.map(({ format, encoding }) => `${format}, ${encoding}`)],
      rows,
    })
    for (const { name } of SUBJECTS.slice(1)) {
      // Plots the first column that the subject supports, which is JSON with hex if possible.
      const { ratio } = cells.map(({ results }) => results.get(name)).find(Boolean)
      points.push({ series: sizeName(size), x: name, y: ratio.median, low: ratio.low, high: ratio.high })
    }
    // Summarizes all four columns, because the worst one would be the one most disturbed by other work on the machine.
    const figure = summarize(cells.flatMap(({ results }) => results.get(geohook.name).ratios))
    figures[figureId(size)] = figure
    say(`${sizeName(size)}: geohook takes ${digits(figure.median)}× the time of hand-written`)
  }
  return {
    tables,
    figures,
    plots: [
      {
        name: 'verify',
        title: 'verify: time relative to createHmac + timingSafeEqual by hand (JSON)',
        kind: 'bars',
        x: '',
        y: 'times as long (log)',
        logY: true,
        base: 1,
        goals: SIZES.map((size) => ({ series: sizeName(size), y: goalOf(figureId(size)) })),
        points,
      },
    ],
    versions: versionsOf(SUBJECTS.slice(2).map(({ name }) => name)),
  }
}
