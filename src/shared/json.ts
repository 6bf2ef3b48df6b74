import { WebhookError } from '../errors.ts'

/** Parses JSON. Returns `undefined` if the text is not JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The engine's error is dropped, because its message quotes the body.
    return undefined
  }
}

/** A JSON object of unknown shape. */
export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Maximum number of levels of nested objects and arrays in a payload. */
export const MAX_DEPTH = 64

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
export const isForbidden = (key: string, member: unknown): boolean =>
  key === '__proto__' || (key === 'constructor' && Object.hasOwn(Object(member), 'prototype'))

/** Creates the error for a body that is not a valid payload. */
export const malformed = (message: string): WebhookError => new WebhookError('payload_malformed', { message })

const strictUtf8 = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true })

/**
 * Decodes UTF-8 strictly: invalid bytes are an error, never replaced. Removes one leading byte order mark (RFC 8259
 * section 8.1).
 *
 * @throws {WebhookError} `payload_malformed`
 */
export function toText(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    throw malformed('the body is not valid UTF-8')
  }
}
