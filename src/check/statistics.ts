/** Part of the median by which two medians must differ to count. */
const MIN_RATIO = 0.1
/** Value of Welch's t above which a difference counts; chance reaches 4.5 in one of 100,000 comparisons. */
const MIN_T = 4.5
/** Part of the slowest times to ignore: pauses of either side make them. */
const CROPPED = 0.1

/**
 * Compares two samples of times in milliseconds. The difference is clear if it is both large and not due to chance
 * (Welch's t-test of the times without the slowest ones).
 */
export function compareSamples(
  a: readonly number[],
  b: readonly number[],
): { difference: number; isClear: boolean } {
  const [x, y] = [crop(a), crop(b)]
  const difference = medianOf(y) - medianOf(x)
  const t = (meanOf(y) - meanOf(x)) / Math.sqrt(varianceOf(x) / x.length + varianceOf(y) / y.length)
  const isLarge = Math.abs(difference) > MIN_RATIO * Math.min(medianOf(x), medianOf(y))
  return { difference, isClear: isLarge && Math.abs(t) > MIN_T }
}

const crop = (times: readonly number[]): number[] =>
  [...times].sort((a, b) => a - b).slice(0, Math.ceil(times.length * (1 - CROPPED)))

const medianOf = (sorted: readonly number[]): number => sorted[sorted.length >> 1] ?? 0
const meanOf = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0) / numbers.length

function varianceOf(numbers: readonly number[]): number {
  const mean = meanOf(numbers)
  return numbers.reduce((sum, number) => sum + (number - mean) ** 2, 0) / (numbers.length - 1)
}
