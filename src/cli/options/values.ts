import { InvalidArgumentError } from 'commander'
import { isHeaderName, isHeaderValue } from '../../shared/headers.ts'
import { isSecretHeader } from '../../shared/redact.ts'
import type { Io } from '../terminal/io.ts'

// Parsers for Commander's `argParser`. They throw an InvalidArgumentError that does not quote the value.

/** Creates a parser for a repeatable option, which adds each value to the previous ones. False counts as no values. */
export const listOf =
  <T>(parse: (value: string) => T) =>
  (value: string, previous?: readonly T[] | false): T[] => [...(previous || []), parse(value)]

export const collect: (value: string, previous?: readonly string[] | false) => string[] = listOf(String)

/** Parses an integer from `min` to `max`. */
export const wholeNumber =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value)
    if (/^\d+$/.test(value) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`must be a whole number from ${min} to ${max}`)
  }

/** 0 means any free port. */
export const port: (value: string) => number = wholeNumber(0, 65_535)

export function httpUrl(value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new InvalidArgumentError('must be a URL that begins with http:// or https://')
}

export function originOf(value: string): string {
  const { href, origin } = httpUrl(value)
  if (href === `${origin}/`) return origin
  throw new InvalidArgumentError('must be a scheme and a host, for example https://gis.example.com')
}

/** Creates a parser for a header line, `name: value`, which adds it to the previous ones. */
export const headerLine =
  (io: Io) =>
  (value: string, previous: readonly [string, string][] = []): [string, string][] => {
    const [, name = '', text = ''] = /^([^:]*):(.*)$/s.exec(value) ?? []
    if (!isHeaderName(name) || !isHeaderValue(text))
      throw new InvalidArgumentError("must be a header line like 'name: value'")
    const content = text.trim()
    if (isSecretHeader(name))
      for (const secret of [content, content.slice(content.indexOf(' ') + 1)]) io.keepSecret(secret)
    return [...previous, [name, content]]
  }

export function headerName(value: string): string {
  if (isHeaderName(value)) return value
  throw new InvalidArgumentError('must be a header name, for example x-service')
}

/** Creates a parser for items separated by commas, which adds them to the previous ones. */
export const commaList =
  <T>(pattern: RegExp, rule: string, parse: (item: string) => T) =>
  (value: string, previous: readonly T[] = []): T[] => {
    const items = value.split(',').map((item) => item.trim())
    if (!items.every((item) => pattern.test(item))) throw new InvalidArgumentError(`must be ${rule}`)
    return [...previous, ...items.map(parse)]
  }

const SIZE_UNITS: Record<string, number> = { b: 1, kb: 1024, mb: 1024 ** 2 }

/** Parses a size up to 64 MiB, in bytes or with a unit: `4096`, `512kb`, `1mb`. */
export function byteSize(value: string): number {
  const [, digits, unit = 'b'] = /^(\d{1,9})(b|kb|mb)?$/i.exec(value) ?? []
  const bytes = Number(digits) * (SIZE_UNITS[unit.toLowerCase()] ?? Number.NaN)
  if (bytes >= 1 && bytes <= 64 * 1024 ** 2) return bytes
  throw new InvalidArgumentError('must be a number of bytes, or a size like 512kb or 1mb, up to 64mb')
}

const TIME_UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses a duration like `90s`, `15m`, `12h` or `7d`. Returns milliseconds. */
export function duration(value: string): number {
  const [, digits, unit = ''] = /^(\d{1,6})([smhd])$/.exec(value) ?? []
  if (digits !== undefined) return Number(digits) * (TIME_UNITS[unit] ?? Number.NaN)
  throw new InvalidArgumentError('must be a duration like 90s, 15m, 12h or 7d')
}
