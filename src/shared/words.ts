const UNITS: readonly (readonly [unit: string, milliseconds: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/** A duration in the largest unit that gives at least 2, for example `90 s` or `3 h`. */
export function toDuration(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => milliseconds >= 2 * size) ?? ['ms', 1]
  return `${Math.max(0, Math.floor(milliseconds / size))} ${unit}`
}

/** Returns a number and a noun, such as `1 delivery`. The plural of `delivery` must be given. */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`

/** Quotes text for a POSIX shell. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * The start of an error by which a filter can find it: up to a secret, which `hide` changes, or a character that a shell
 * or a form would change.
 */
export function toFindable(error: string, hide: (text: string) => string): string {
  const safe = hide(error)
  let end = 0
  while (end < error.length && error[end] === safe[end]) end++
  return error.slice(0, end).replace(/\p{C}.*$/su, '')
}
