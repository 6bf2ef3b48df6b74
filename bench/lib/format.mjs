/** @typedef {import('./rounds.mjs').Summary} Summary */

/** Formats a number with thousands separators and a fixed number of decimals. */
export const number = (value, digits = 0) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })

/** Formats a number with about three significant digits. */
export function digits(value) {
  const size = Math.abs(value)
  if (size >= 100 || size === 0) return number(value)
  return number(value, size >= 10 ? 1 : size >= 0.1 ? 2 : 3)
}

/** Formats a median and its interval: `0.52 (0.51-0.54)`. @param {Summary} summary */
export function spread({ median, low, high }, write = digits) {
  return `${write(median)} (${write(low)}-${write(high)})`
}

/** Formats a median and its interval as a factor: `0.52× (0.51-0.54)`. @param {Summary} summary */
export const times = ({ median, low, high }) => `${digits(median)}× (${digits(low)}-${digits(high)})`

/** @param {Summary} summary */
export const scale = ({ median, low, high }, factor) => ({
  median: median * factor,
  low: low * factor,
  high: high * factor,
})
