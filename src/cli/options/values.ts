import { InvalidArgumentError } from 'commander'

/** Collects the values of an option that may be repeated. */
export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** A whole number within bounds. */
export const wholeNumber =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value)
    if (/^\d+$/.test(value) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`give a whole number from ${min} to ${max}`)
  }

export const port: (value: string) => number = wholeNumber(0, 65_535)

/** An absolute address of HTTP. */
export function httpUrl(value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new InvalidArgumentError('give a URL that begins with http:// or https://')
}

/** `name: value`, as in a request. */
export function headerLine(value: string, before: readonly [string, string][] = []): [string, string][] {
  const [, name, text] = /^([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e\x80-\xff]*)$/.exec(value) ?? []
  if (name === undefined || text === undefined) throw new InvalidArgumentError("give it as 'name: value'")
  return [...before, [name, text.trim()]]
}

/** The token of RFC 9110 section 5.6.2. */
export function headerName(value: string): string {
  if (/^[\w!#$%&'*+.^`|~-]+$/.test(value)) return value
  throw new InvalidArgumentError('give the name of a header, for example x-service')
}

const UNITS: Record<string, number> = { b: 1, kb: 1024, mb: 1024 ** 2 }

/** Bytes, or like `512kb` or `1mb`; up to 64 MiB. */
export function byteSize(value: string): number {
  const [, digits, unit = 'b'] = /^(\d{1,9})(b|kb|mb)?$/i.exec(value) ?? []
  const bytes = Number(digits) * (UNITS[unit.toLowerCase()] ?? Number.NaN)
  if (bytes >= 1 && bytes <= 64 * 1024 ** 2) return bytes
  throw new InvalidArgumentError('give bytes, or like 512kb or 1mb, up to 64mb')
}

const TIMES: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A time like `90s`, `15m`, `12h` or `7d`, in milliseconds. */
export function duration(value: string): number {
  const [, digits, unit = ''] = /^(\d{1,6})([smhd])$/.exec(value) ?? []
  if (digits !== undefined) return Number(digits) * (TIMES[unit] ?? Number.NaN)
  throw new InvalidArgumentError('give a time like 90s, 15m, 12h or 7d')
}

/** An object as a record; undefined for anything else. */
export const toRecord = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
