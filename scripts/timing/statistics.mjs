/** Quantiles of the times to test, as in dudect: high times measure interruptions by the operating system. */
const CROPS = [0.5, 0.75, 0.9, 0.95, 0.99, 1]

/**
 * @param {ArrayLike<number>} sorted
 * @param {number} part the quantile to return, from 0 to 1; 0.5 is the median
 */
export const quantile = (sorted, part) => sorted[Math.floor((sorted.length - 1) * part)]

const sort = (values) => Float64Array.from(values).sort()

/** @param {readonly number[]} values */
export const median = (values) => quantile(sort(values), 0.5)

/**
 * Returns the largest of Welch's t for two samples, cropped at several quantiles of all their values (Reparaz, Balasch,
 * Verbauwhede: "Dude, is my code constant time?", DATE 2017).
 *
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 */
export function largestT(a, b) {
  const all = sort([...a, ...b])
  const results = CROPS.map((crop) => {
    const limit = quantile(all, crop)
    return welch(...[a, b].map((values) => values.filter((value) => value <= limit)))
  })
  return results.reduce((largest, t) => (Math.abs(t) > Math.abs(largest) ? t : largest))
}

/** Returns Welch's t: the difference of the means, in standard errors. */
function welch(a, b) {
  const [first, second] = [moments(a), moments(b)]
  return (first.mean - second.mean) / Math.sqrt(first.error + second.error)
}

/** Returns the mean, and the square of the standard error of the mean. */
function moments(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return { mean, error: squares / (values.length - 1) / values.length }
}

/**
 * Returns a seeded generator of random numbers from 0 to 1 (mulberry32).
 *
 * @param {number} seed
 * @returns {() => number}
 */
export function seeded(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
