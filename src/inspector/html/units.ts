/** A number with its noun, for example `1 delivery` or `1,204 deliveries`. */
export const toCount = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`

/** A size in bytes as text, for example `1,204 bytes` or `3.1 MiB`. */
export function toSize(bytes: number): string {
  if (bytes < 10 * 1024) return toCount(bytes, 'byte')
  const isLarge = bytes >= 1024 * 1024
  return `${(bytes / (isLarge ? 1024 * 1024 : 1024)).toFixed(1)} ${isLarge ? 'MiB' : 'KiB'}`
}

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
