import { malformed } from './utf8.ts'

/** Objects and arrays inside one another, at most. */
const MAX_DEPTH = 64

/**
 * Refuses what is legal JSON and harms whoever merges or walks it: nesting without end, and keys that reach a
 * prototype (as in `secure-json-parse`). Services send neither.
 *
 * @throws {WebhookError} `payload_malformed`
 */
export function requireSafe(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return
  if (depth === MAX_DEPTH) throw malformed(`the payload has over ${MAX_DEPTH} levels`)
  if (Array.isArray(value)) {
    for (const item of value) requireSafe(item, depth + 1)
    return
  }
  for (const key of Object.keys(value)) {
    const member: unknown = (value as Record<string, unknown>)[key]
    if (key === '__proto__' || (key === 'constructor' && Object.hasOwn(Object(member), 'prototype'))) {
      throw malformed(`forbidden key: ${key}`)
    }
    requireSafe(member, depth + 1)
  }
}
