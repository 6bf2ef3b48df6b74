import { requireSafe } from '../limits.ts'
import { tryJson } from '../utf8.ts'

/** Readers that take a value as senders write it, and answer undefined for what it is not. */

export type Fields = Record<string, unknown>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An object, empty where the value is none. */
export const toFields = (value: unknown): Fields => (isFields(value) ? value : {})

/** A text, or a number as text. */
export function text(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A whole number, also as text: a form has only text. */
export function integer(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) ? (number as number) : undefined
}

// Engines read far more than ISO 8601 as a date ("room 12"), and differ in what.
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

/** A time: milliseconds since 1970, or an ISO 8601 text. */
export function time(value: unknown): Date | undefined {
  const milliseconds = integer(value)
  if (milliseconds === undefined && !ISO_TIME.test(text(value) ?? '')) return undefined
  const date = new Date(milliseconds ?? (value as string))
  return Number.isNaN(date.getTime()) ? undefined : date
}

/**
 * A URL that is percent-encoded wholly (`https%3a%2f%2f…`), in part, or not at all. Only the first is decoded: the
 * others can be fetched as they are. Only ASCII is: the rest belongs percent-encoded in a URL, and a `%` that begins
 * no valid sequence, as some senders have, does no harm.
 */
export function url(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  return /^https?%3a/i.test(value) ? value.replace(/%[2-7][0-9a-f]/gi, decodeURIComponent) : value
}

/** A name without the space around it; empty for what is no name. */
export const toName = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

/** Names in an array, or comma-separated in a text; what is no name is left out. */
export function names(value: unknown): string[] {
  const list = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : []
  return list.map(toName).filter(Boolean)
}

/** Adds what is not undefined, so that an absent field is absent. */
export function addPresent<T extends object>(target: T, fields: { [K in keyof T]?: T[K] | undefined }): T {
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined) target[name] = value
  }
  return target
}

/**
 * A list that is one already, or JSON in a text, as a plain form field carries it.
 *
 * @throws {WebhookError} `payload_malformed` for such JSON that is not safe
 */
export function list(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*\[/.test(value)) return value
  const parsed = tryJson(value)
  if (parsed === undefined) return value
  requireSafe(parsed)
  return parsed
}
