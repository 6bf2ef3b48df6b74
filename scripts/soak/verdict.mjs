import { quantile } from '../timing/judge.mjs'

/** Number of samples to ignore at the start of each generation: opening leaves garbage, and fills caches. */
const IGNORED = 1

/** Bytes of the heap per request from which on it leaks. */
const HEAP_LIMIT = 50
/** Bytes of the heap per restart. */
const RESTART_LIMIT = 50_000
const COUNTS = ['sockets', 'handles', 'timers', 'files']
/** Growth of a count, within one generation or over all restarts, from which on it leaks. */
const COUNT_LIMIT = 2
/** Number of samples at each end of a series that must all show the growth of a count. */
const EDGE = 2
/** Number of restarts from which on the heap is judged: some of these samples contain an old response and its server. */
const MIN_HEAP_RESTARTS = 20

/**
 * @typedef {object} Row
 * @property {string} resource
 * @property {'flat' | 'leak' | 'unclear' | 'not judged'} outcome for the heap, `leak`: the whole interval is above the
 *   limit; `flat`: the whole interval is below
 * @property {number} [limit]
 * @property {number} [growth] of a count
 */

const notJudged = (resource) => ({ resource, outcome: 'not judged' })

/** @returns {Row & Slope} */
function judgeSlope(resource, slope, limit) {
  const outcome = slope.low > limit ? 'leak' : slope.high < limit ? 'flat' : 'unclear'
  return { resource, ...slope, limit, outcome }
}

/**
 * Judges a count by the largest growth in a series of samples. All samples of an idle process show the same count, so
 * its growth needs no relation to the number of requests: that would hide leaks of rare requests.
 *
 * @returns {Row}
 */
function judgeCount(resource, name, series) {
  const growths = series
    .map((samples) => samples.map((sample) => sample[name]))
    .filter((counts) => counts.length >= 2 * EDGE && counts[0] !== undefined)
    .map((counts) => Math.min(...counts.slice(-EDGE)) - Math.max(...counts.slice(0, EDGE)))
  if (growths.length === 0) return notJudged(resource)
  const growth = Math.max(...growths)
  return { resource, growth, limit: COUNT_LIMIT, outcome: growth >= COUNT_LIMIT ? 'leak' : 'flat' }
}

/**
 * @param {readonly (readonly object[])[]} generations
 * @returns the slope of the heap over the requests, and the growth of each count
 */
export function judgeResources(generations) {
  const series = generations.map((samples) => samples.slice(IGNORED))
  return [
    judgeSlope('heap', heapPerRequest(generations), HEAP_LIMIT),
    ...COUNTS.map((name) => judgeCount(name, name, series)),
  ]
}

function heapPerRequest(generations) {
  const series = generations.map((samples) => {
    let requests = 0
    return samples
      .map((sample) => {
        requests += sample.requests
        return [requests, sample.heap]
      })
      .slice(IGNORED)
  })
  return theilSen(series)
}

/**
 * What a block of requests leaves behind may be freed during a later block, which then seems to free memory. But nothing
 * leaks less than nothing, so an adapter leaks at most what all adapters leak together.
 *
 * @returns the slope of the heap over the requests to each adapter
 */
export function judgeAdapters(generations, adapters) {
  const steps = generations.flatMap((samples) =>
    samples.slice(IGNORED + 1).map(({ counts, heap }, index) => ({
      counts,
      increment: heap - samples[index + IGNORED].heap,
    })),
  )
  const slopes = splitByCause(steps)
  if (!slopes) return [notJudged('heap by adapter')]
  const requestsTo = (index) => steps.reduce((sum, { counts }) => sum + counts[index], 0)
  const requests = adapters.reduce((sum, _, index) => sum + requestsTo(index), 0)
  const most = Math.max(0, heapPerRequest(generations).high) * requests
  return slopes.map(({ slope, low, high }, index) => {
    const bound = most / requestsTo(index)
    const bounded = { slope: Math.min(slope, bound), low: Math.min(low, bound), high: Math.min(high, bound) }
    return judgeSlope(`heap, ${adapters[index]}`, bounded, HEAP_LIMIT)
  })
}

/** @returns the slope of the heap over the restarts of receivers and inbox, and the growth of each count, while closed */
export function judgeRestarts(restarts) {
  const samples = restarts.slice(IGNORED)
  const heap = theilSen([samples.map((sample, index) => [index, sample.heap])])
  return [
    samples.length >= MIN_HEAP_RESTARTS
      ? judgeSlope('heap, closed', heap, RESTART_LIMIT)
      : notJudged('heap, closed'),
    ...COUNTS.map((name) => judgeCount(`${name}, closed`, name, [samples])),
  ]
}

/** Quantile of the normal distribution for intervals with a confidence of 99 %. */
const Z = 2.576

/**
 * @typedef {object} Slope
 * @property {number} slope
 * @property {number} low lower end of its interval, with a confidence of 99 %
 * @property {number} high upper end
 */

/**
 * The Theil-Sen slope of several series with the same slope and different levels: the median slope of all pairs of
 * points within a series. The interval is Sen's, with the variance of the seasonal Kendall test (Hirsch and Slack, 1984),
 * and its ranks are rounded outwards. A few outliers, for example samples with garbage, do not change it.
 *
 * @param {readonly (readonly [x: number, y: number][])[]} series each with different values of x
 * @returns {Slope}
 */
function theilSen(series) {
  const slopes = []
  let variance = 0
  for (const points of series) {
    const { length: n } = points
    variance += (n * (n - 1) * (2 * n + 5)) / 18
    for (const [index, [x, y]] of points.entries()) {
      for (const [laterX, laterY] of points.slice(index + 1)) slopes.push((laterY - y) / (laterX - x))
    }
  }
  if (slopes.length === 0)
    return { slope: Number.NaN, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY }
  slopes.sort((a, b) => a - b)
  const half = (Z * Math.sqrt(variance)) / 2
  const middle = slopes.length / 2
  return {
    slope: quantile(slopes, 0.5),
    low: slopes[Math.floor(middle - half) - 1] ?? Number.NEGATIVE_INFINITY,
    high: slopes[Math.ceil(middle + half)] ?? Number.POSITIVE_INFINITY,
  }
}

/**
 * Splits the increments of a series by least squares: increment = Σ count of each cause × its slope. The counts must
 * vary independently of each other.
 *
 * @param {readonly { counts: readonly number[], increment: number }[]} steps
 * @returns {Slope[] | undefined} one for each cause; undefined if there are too few steps
 */
function splitByCause(steps) {
  const causes = steps[0]?.counts.length ?? 0
  if (steps.length < 3 * causes || causes === 0) return undefined
  const sum = (value) => steps.reduce((total, step) => total + value(step), 0)
  const square = Array.from({ length: causes }, (_, row) =>
    Array.from({ length: causes }, (_, column) => sum(({ counts }) => counts[row] * counts[column])),
  )
  const inverse = invert(square)
  if (!inverse) return undefined
  const products = square.map((_, row) => sum(({ counts, increment }) => counts[row] * increment))
  const dot = (a, b) => a.reduce((total, value, index) => total + value * b[index], 0)
  const slopes = inverse.map((row) => dot(row, products))
  const variance =
    sum(({ counts, increment }) => (increment - dot(counts, slopes)) ** 2) / (steps.length - causes)
  return slopes.map((slope, index) => {
    const half = Z * Math.sqrt(variance * inverse[index][index])
    return { slope, low: slope - half, high: slope + half }
  })
}

/** Inverts a symmetric positive definite matrix by elimination. @returns undefined if it is singular */
function invert(matrix) {
  const size = matrix.length
  const rows = matrix.map((row, index) => [...row, ...row.map((_, column) => (column === index ? 1 : 0))])
  for (let step = 0; step < size; step++) {
    const pivot = rows[step][step]
    if (!(pivot > 1e-9)) return undefined
    rows[step] = rows[step].map((value) => value / pivot)
    for (let row = 0; row < size; row++) {
      if (row === step) continue
      const factor = rows[row][step]
      rows[row] = rows[row].map((value, column) => value - factor * rows[step][column])
    }
  }
  return rows.map((row) => row.slice(size))
}

const MAX_FAULTS = 20

const number = (value) => {
  if (!Number.isFinite(value)) return String(value)
  return Math.abs(value) >= 10 ? value.toFixed(0) : value.toPrecision(2).replace(/^-?0\.0*$/, '0')
}

const toRow = ({ resource, growth, slope, low, high, limit, outcome }) => ({
  resource,
  growth: growth ?? (slope === undefined ? '' : number(slope)),
  interval: slope === undefined ? '' : `${number(low)} to ${number(high)}`,
  limit: limit ?? '',
  verdict: outcome,
})

/** Prints the tables of a run. */
export function printReport({ seed, run, resources, adapters, restarts }) {
  const samples = run.generations.reduce((sum, { length }) => sum + length, 0)
  console.log(
    `seed ${seed}: ${run.requests} requests in ${run.minutes.toFixed(1)} minutes, ${run.deliveries} deliveries acknowledged and handled, ${samples} samples`,
  )
  console.log(
    '\nHeap: bytes per request, or per restart while everything is closed, with intervals of 99 % confidence.',
  )
  console.log('All else: growth of a count in one generation, or over all restarts.')
  console.table([...resources, ...adapters, ...restarts].map(toRow))
}

/** Prints what is wrong with a run. @returns {number} the exit code */
export function printVerdict({ run, resources, adapters, restarts }) {
  const faults = [...run.faults]
  for (const [fault, times] of faults.slice(0, MAX_FAULTS)) console.error(`wrong: ${fault} (${times} times)`)
  if (faults.length > MAX_FAULTS) console.error(`and ${faults.length - MAX_FAULTS} more`)

  const rows = [...resources, ...restarts, ...adapters]
  for (const { resource, outcome, growth, slope } of rows) {
    if (outcome === 'leak') console.error(`leak: ${resource} grows by ${growth ?? number(slope)}`)
  }
  if (faults.length > 0 || rows.some(({ outcome }) => outcome === 'leak')) return 1

  const unclear = rows.filter(({ outcome }) => outcome === 'unclear')
  for (const { resource } of unclear)
    console.error(`unclear: ${resource}. Run for longer, or on an idle machine`)
  return unclear.length > 0 ? 3 : 0
}
