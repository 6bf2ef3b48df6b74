import { splitByCause, theilSen } from './statistics.mjs'

/** Number of samples to ignore at the start of each generation: opening leaves garbage, and fills caches. */
const IGNORED = 1

/** Resources, and the slope from which on they leak: bytes of the heap, or a count, per request. */
const RESOURCES = { heap: 50, sockets: 1e-4, handles: 1e-4, timers: 1e-4, files: 1e-4 }
/** Bytes of the heap per restart. */
const RESTART_LIMIT = 50_000
/** Number of restarts from which on the heap is judged: some of these samples contain an old response and its server. */
const MIN_HEAP_RESTARTS = 20

/**
 * @typedef {object} Row
 * @property {string} resource
 * @property {number} limit
 * @property {'flat' | 'leak' | 'unclear'} outcome `leak`: the whole interval is above the limit; `flat`: the whole
 *   interval is below
 */

/** @returns {Row & import('./statistics.mjs').Slope} */
function judge(resource, slope, limit) {
  const outcome = slope.low > limit ? 'leak' : slope.high < limit ? 'flat' : 'unclear'
  return { resource, ...slope, limit, outcome }
}

/** @param {readonly (readonly object[])[]} generations @returns the slope of each resource over the requests */
export function judgeResources(generations) {
  const present = Object.keys(RESOURCES).filter((name) => generations[0][0][name] !== undefined)
  return present.map((name) => judge(name, slopePerRequest(generations, name), RESOURCES[name]))
}

function slopePerRequest(generations, name) {
  const series = generations.map((samples) => {
    let requests = 0
    return samples
      .map((sample) => {
        requests += sample.requests
        return [requests, sample[name]]
      })
      .slice(IGNORED)
  })
  return theilSen(series)
}

/**
 * What a block of requests leaves behind may be freed during a later block, which then seems to free memory. But nothing
 * leaks less than nothing, so an adapter leaks at most what all adapters leak together.
 *
 * @returns the slope of the heap over the requests to each adapter; empty if there are too few samples
 */
export function judgeAdapters(generations, adapters) {
  const steps = generations.flatMap((samples) =>
    samples.slice(IGNORED + 1).map(({ counts, heap }, index) => ({
      counts,
      increment: heap - samples[index + IGNORED].heap,
    })),
  )
  const slopes = splitByCause(steps) ?? []
  const requestsTo = (index) => steps.reduce((sum, { counts }) => sum + counts[index], 0)
  const requests = adapters.reduce((sum, _, index) => sum + requestsTo(index), 0)
  const most = Math.max(0, slopePerRequest(generations, 'heap').high) * requests
  return slopes.map(({ slope, low, high }, index) => {
    const bound = most / requestsTo(index)
    const bounded = { slope: Math.min(slope, bound), low: Math.min(low, bound), high: Math.min(high, bound) }
    return judge(`heap, ${adapters[index]}`, bounded, RESOURCES.heap)
  })
}

/** @returns the slopes over the restarts of receivers and inbox, while everything is closed */
export function judgeRestarts(restarts) {
  const samples = restarts.slice(IGNORED)
  const slopePerRestart = (name) => theilSen([samples.map((sample, index) => [index, sample[name]])])
  return Object.keys(RESOURCES)
    .filter((name) => samples[0][name] !== undefined)
    .filter((name) => name !== 'heap' || samples.length >= MIN_HEAP_RESTARTS)
    .map((name) => judge(`${name}, closed`, slopePerRestart(name), name === 'heap' ? RESTART_LIMIT : 0.1))
}
