import { splitByCause, theilSen } from './statistics.mjs'

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

/** @returns {Row & import('./statistics.mjs').Slope} */
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
