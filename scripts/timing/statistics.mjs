/**
 * @param {readonly number[]} values
 * @param {number} part the quantile to return, from 0 to 1; 0.5 is the median
 */
export function quantile(values, part) {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.floor((sorted.length - 1) * part)]
}

/**
 * Returns Welch's t for two samples: the difference of their means, in standard errors. Ignores values above the 95th
 * percentile of both samples, which measure interruptions by the operating system.
 *
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 */
export function welch(a, b) {
  const limit = quantile([...a, ...b], 0.95)
  const [first, second] = [a, b].map((values) => moments(values.filter((value) => value <= limit)))
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
