import { measureForged } from '../growth/forged.mjs'
import { measureAll } from '../growth/rounds.mjs'
import { SERIES } from '../growth/series.mjs'
import { digits, number, scale, spread, times } from '../lib/format.mjs'
import { ratio, summarize } from '../lib/rounds.mjs'

/** For each size of a series, measures the time, its ratio to the first size, and the time per additional unit. */
async function measure({ sizes, create }, smoke) {
  const subjects = []
  for (const size of sizes) subjects.push({ size, ...(await create(size)) })
  const measured = await measureAll(subjects, smoke)
  const first = measured.get(subjects[0])
  return subjects.map((subject) => {
    const figures = measured.get(subject)
    const additional = figures.map((figure, round) => (figure - first[round]) / (subject.size - 1))
    return {
      size: subject.size,
      time: scale(summarize(figures), 1000),
      ratio: ratio(figures, first),
      additional: scale(summarize(additional), 1000),
    }
  })
}

const toTable = ({ what, unit }, results) => ({
  title: `growth: ${what}`,
  columns: [unit, 'µs per request', 'vs 1', 'µs per additional'],
  rows: results.map(({ size, time, ratio, additional }, index) => [
    number(size),
    spread(time),
    times(ratio),
    index === 0 ? '-' : spread(additional),
  ]),
})

function toPlot({ id, title, unit, log = {} }, results) {
  const axis = (name, isLog) => `${name}${isLog ? ' (log)' : ''}`
  const point = (series, size, { median, low, high }) => ({ series, x: size, y: median, low, high })
  const whole = results.map(({ size, time }) => point('a request', size, time))
  const each = results.map(({ size, time }) =>
    point(`of it, each of the ${unit}`, size, scale(time, 1 / size)),
  )
  return {
    name: `growth-${id}`,
    title: `growth: ${title}`,
    kind: 'lines',
    x: axis(unit, log.x),
    y: axis('µs', log.y),
    logX: log.x,
    logY: log.y,
    points: log.y ? [...whole, ...each] : whole,
  }
}

const forgedTable = (results) => ({
  title: 'growth: 1 KiB, one event; a request with a forged signature',
  columns: ['signature', 'µs per request', 'vs valid'],
  rows: results.map(({ name, time, ratio }) => [name, spread(scale(time, 1000)), times(ratio)]),
})

/** @type {import('../lib/part.mjs').Run} */
export async function run({ smoke, say }) {
  const [tables, figures, plots] = [[], {}, []]
  for (const series of SERIES) {
    const results = await measure(series, smoke)
    const { size, ratio } = results.at(-1)
    say(`${number(size)} ${series.title}: ${digits(ratio.median)}× the time of 1`)
    tables.push(toTable(series, results))
    plots.push(toPlot(series, results))
    figures[`growth/${series.id}`] = ratio
  }
  const forged = await measureForged({ smoke })
  figures['growth/forged'] = forged.at(-1).ratio
  say(`a forged request: ${digits(forged.at(-1).ratio.median)}× the time of a valid one`)
  return { tables: [...tables, forgedTable(forged)], figures, plots }
}
