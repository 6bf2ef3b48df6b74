/** |t| from which a difference is certain. From 4.5 it is likely. Both are the limits of dudect. */
const CERTAIN = 10
const LIKELY = 4.5
/**
 * Nanoseconds from which a certain difference counts, unless a pair has its own limit. Crosby, Wallach and Riedi (TISSEC
 * 2009) could tell 20 µs apart over the internet, and 100 ns within a data centre.
 */
const VISIBLE = 2000

/**
 * Compares the times of both sides, in milliseconds. All results are in nanoseconds. Secret pairs fail if they differ
 * visibly, controls if no difference is certain, and all pairs if t is not finite.
 *
 * @param {Pick<import('./pairs.mjs').Pair, 'kind' | 'visible'> & { times: [number[], number[]] }} pair
 */
export function judge({ kind = 'secret', visible = VISIBLE, times: [a, b] }) {
  const { t, difference } = largestT(a, b)
  const result = {
    kind,
    time: median(b) * 1e6,
    difference: (median(a) - median(b)) * 1e6,
    meanDifference: difference * 1e6,
    t,
  }
  // A median does not show a difference that only some of the requests have, but a mean does.
  const largest = Math.max(Math.abs(result.difference), Math.abs(result.meanDifference))
  const verdict = verdictOf(t, largest >= visible)
  const isMissed = kind === 'control' && Math.abs(t) < CERTAIN
  const isFound = kind === 'secret' && verdict === 'visible'
  return { ...result, verdict, hasFailed: verdict === 'no result' || isMissed || isFound }
}

function verdictOf(t, isVisible) {
  if (!Number.isFinite(t)) return 'no result'
  if (Math.abs(t) < LIKELY) return 'none'
  if (Math.abs(t) < CERTAIN) return 'uncertain'
  return isVisible ? 'visible' : 'too small to see'
}

/** Quantiles of the times to test, as in dudect: high times measure interruptions by the operating system. */
const CROPS = [0.5, 0.75, 0.9, 0.95, 0.99]

/**
 * @param {ArrayLike<number>} sorted
 * @param {number} part the quantile to return, from 0 to 1; 0.5 is the median
 */
export const quantile = (sorted, part) => sorted[Math.floor((sorted.length - 1) * part)]

const sort = (values) => Float64Array.from(values).sort()

/** @param {readonly number[]} values */
const median = (values) => quantile(sort(values), 0.5)

/**
 * Returns the largest of Welch's t for two samples, complete and cropped at several quantiles of all their values
 * (Reparaz, Balasch, Verbauwhede: "Dude, is my code constant time?", DATE 2017), with the difference of the means from
 * which this t was computed. It is not finite if a sample has less than 2 values, or if both are constant.
 *
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 */
function largestT(a, b) {
  const all = sort([...a, ...b])
  const cropped = CROPS.map((crop) => {
    const limit = quantile(all, crop)
    return welch(...[a, b].map((values) => values.filter((value) => value <= limit)))
  })
  // If one side has higher times, a crop may leave it too few values for a t. The complete samples still have one.
  return cropped
    .filter(({ t }) => Number.isFinite(t))
    .reduce((largest, result) => (Math.abs(result.t) > Math.abs(largest.t) ? result : largest), welch(a, b))
}

/** Returns the difference of the means, and Welch's t: this difference in standard errors. */
function welch(a, b) {
  const [first, second] = [moments(a), moments(b)]
  const difference = first.mean - second.mean
  return { t: difference / Math.sqrt(first.error + second.error), difference }
}

/** Returns the mean, and the square of the standard error of the mean. */
function moments(values) {
  // Relative to the first value, because the mean of equal values would otherwise be inexact and have an error.
  const mean = values[0] + values.reduce((sum, value) => sum + (value - values[0]), 0) / values.length
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return { mean, error: squares / (values.length - 1) / values.length }
}
