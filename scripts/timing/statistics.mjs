/** Quantiles of the times to test, as in dudect: high times measure interruptions by the operating system. */
const CROPS = [0.5, 0.75, 0.9, 0.95, 0.99]

/**
 * @param {ArrayLike<number>} sorted
 * @param {number} part the quantile to return, from 0 to 1; 0.5 is the median
 */
export const quantile = (sorted, part) => sorted[Math.floor((sorted.length - 1) * part)]

const sort = (values) => Float64Array.from(values).sort()

/** @param {readonly number[]} values */
export const median = (values) => quantile(sort(values), 0.5)

/**
 * Returns the largest of Welch's t for two samples, complete and cropped at several quantiles of all their values
 * (Reparaz, Balasch, Verbauwhede: "Dude, is my code constant time?", DATE 2017), with the difference of the means from
 * which this t was computed. It is not finite if a sample has less than 2 values, or if both are constant.
 *
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 */
export function largestT(a, b) {
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
