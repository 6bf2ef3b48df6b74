import { quantile } from '../timing/statistics.mjs'

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
export function theilSen(series) {
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
export function splitByCause(steps) {
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
