import { SERIES } from '../growth/series.mjs'
import { digits, number, scale, spread, times } from '../lib/format.mjs'
import { countFor, interleave, ratio, summarize } from '../lib/rounds.mjs'

/** One series: what each size costs, in all and for one more of what it is made of. */
async function measure({ title, unit, sizes, make }, smoke) {
  const subjects = []
  for (const size of sizes) subjects.push({ size, ...(await make(size)), count: 1 })
  if (!smoke) for (const subject of subjects) subject.count = await countFor(subject.time)
  const measured = await interleave(subjects, {
    rounds: smoke ? 1 : 51,
    warmup: smoke ? 0 : 1,
    measure: ({ time, count }) => time(count),
  })
  const first = measured.get(subjects[0])
  const results = subjects.map((subject) => {
    const figures = measured.get(subject)
    const more = figures.map((figure, round) => (figure - first[round]) / (subject.size - 1))
    const time = scale(summarize(figures), 1000)
    return { size: subject.size, time, ratio: ratio(figures, first), more: scale(summarize(more), 1000) }
  })
  const table = {
    title: `growth: ${title}`,
    columns: [unit, 'µs per request', `beside 1`, `µs for one more`],
    rows: results.map(({ size, time, ratio, more }, index) => [
      number(size),
      spread(time),
      times(ratio),
      index === 0 ? '-' : spread(more),
    ]),
  }
  return { table, results }
}

/** @type {import('../lib/part.mjs').Run} */
export async function run({ smoke, say }) {
  const [tables, figures, plots] = [[], {}, []]
  for (const series of SERIES) {
    const { table, results } = await measure(series, smoke)
    const { id, title, unit } = series
    const last = results.at(-1)
    say(`${number(last.size)} ${unit} (${id}): ${digits(last.ratio.median)}× the time of 1`)
    tables.push(table)
    figures[`growth/${id}`] = last.ratio
    plots.push({
      name: `growth-${id}`,
      title: `growth: ${title}`,
      kind: 'lines',
      x: `${unit}${id === 'keys' ? '' : ' (log)'}`,
      y: `µs per request${id === 'keys' || id === 'handlers' ? '' : ' (log)'}`,
      logX: id !== 'keys',
      logY: id !== 'keys' && id !== 'handlers',
      points: results.map(({ size, time: { median, low, high } }) => ({
        series: 'time per request',
        x: size,
        y: median,
        low,
        high,
      })),
    })
  }
  return { tables, figures, plots }
}
