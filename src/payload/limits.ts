import { malformed } from './utf8.ts'

/** Maximum number of levels of nested objects and arrays in a payload. */
export const MAX_DEPTH = 64

/** Maximum number of fields in a form. */
export const MAX_FIELDS = 1000

/**
 * Rejects JSON that could harm code that merges or traverses it: deep nesting and forbidden keys. No service sends
 * either of them.
 *
 * @throws {WebhookError} `payload_malformed`
 */
export function requireSafe(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return
  if (depth === MAX_DEPTH) throw malformed(`the payload is nested deeper than ${MAX_DEPTH} levels`)
  if (Array.isArray(value)) {
    for (const item of value) requireSafe(item, depth + 1)
    return
  }
  for (const key of Object.keys(value)) {
    const member: unknown = (value as Record<string, unknown>)[key]
    if (isForbidden(key, member)) throw malformed(`the payload contains the forbidden key ${key}`)
    requireSafe(member, depth + 1)
  }
}

/**
 * Returns true for keys that can pollute a prototype when the payload is merged into another object (as in
 * `secure-json-parse`).
 */
const isForbidden = (key: string, member: unknown): boolean =>
  key === '__proto__' || (key === 'constructor' && Object.hasOwn(Object(member), 'prototype'))
