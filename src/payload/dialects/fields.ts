import { requireSafe } from '../limits.ts'
import { tryJson } from '../utf8.ts'

// The readers below return undefined for missing and invalid values, unless noted otherwise.

export type Fields = Record<string, unknown>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns an empty object if the value is not an object. */
export const toFields = (value: unknown): Fields => (isFields(value) ? value : {})

/** Reads a non-empty string, or a number as a string. */
export function readText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Reads an integer from a number or a string: form fields are always strings. */
export function readInteger(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) ? (number as number) : undefined
}

// `Date.parse` also accepts some texts that are not ISO 8601 ("room 12"), and engines differ in which texts they
// accept.
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

/** Reads a time in milliseconds since 1970 or in ISO 8601. */
export function readTime(value: unknown): Date | undefined {
  const milliseconds = readInteger(value)
  if (milliseconds === undefined && !ISO_TIME.test(readText(value) ?? '')) return undefined
  const date = new Date(milliseconds ?? (value as string))
  return Number.isNaN(date.getTime()) ? undefined : date
}

/**
 * Reads a URL. A URL that is percent-encoded as a whole (`https%3a%2f%2f…`) is decoded; any other URL is returned
 * unchanged, ready to fetch. Only ASCII is decoded: other characters must stay encoded in a URL, and
 * `decodeURIComponent` would throw for the invalid sequences of some senders (docs/senders.md, "Payloads").
 */
export function readUrl(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  return /^https?%3a/i.test(value) ? value.replace(/%[2-7][0-9a-f]/gi, decodeURIComponent) : value
}

/** Reads a name and trims it; returns an empty string if the value is not a string. */
export const readName = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

/** Reads names from an array or a comma-separated string. Empty names are skipped. */
export function readNames(value: unknown): string[] {
  const list = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : []
  return list.map(readName).filter(Boolean)
}

/** Assigns `fields` to `target`, except those that are undefined. */
export function assignDefined<T extends object>(target: T, fields: { [K in keyof T]?: T[K] | undefined }): T {
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined) target[name] = value
  }
  return target
}

/**
 * Parses the text of a form field if it contains a JSON array. Returns any other value unchanged.
 *
 * @throws {WebhookError} `payload_malformed` if the array is nested too deep or contains a forbidden key
 */
export function readList(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*\[/.test(value)) return value
  const parsed = tryJson(value)
  if (parsed === undefined) return value
  requireSafe(parsed)
  return parsed
}
