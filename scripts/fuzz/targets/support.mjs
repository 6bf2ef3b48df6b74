import { createHmac } from 'node:crypto'

export const KEY = 'parcels2026'

/** Throws unless the condition holds. */
export function require(condition, message, ...details) {
  if (!condition) throw new Error([message, ...details.map((detail) => JSON.stringify(detail))].join(' '))
}

export const hmac = (key, body) => createHmac('sha256', key).update(body).digest()

/** Splits an input at its first line break: a line of text, and bytes. */
export function splitLine(input) {
  const end = input.indexOf(10)
  if (end < 0) return [input.toString('latin1'), input.subarray(input.length)]
  return [input.toString('latin1', 0, end), input.subarray(end + 1)]
}

/**
 * Replaces `{hex}` and `{base64}` in a header by the signature of a body, which no mutation can guess, and `{key}` by
 * the key.
 */
export function fill(text, body, key = KEY) {
  if (!text.includes('{')) return text
  return text
    .replaceAll('{hex}', () => hmac(key, body).toString('hex'))
    .replaceAll('{base64}', () => hmac(key, body).toString('base64'))
    .replaceAll('{key}', key)
}

/**
 * Reads a signature as docs/senders.md describes it, without code of geohook.
 *
 * @returns 32 bytes, or the code of the error
 */
export function readSignature(header, encoding = 'auto') {
  if (header === undefined || header === '') return 'signature_missing'
  const plain =
    header.length < 300
      ? header.replaceAll(/%[0-9a-f]{2}/gi, (hex) => Buffer.from(hex.slice(1), 'hex').toString('latin1'))
      : header
  const text = plain.replace(/^sha256=/, '')
  if (encoding !== 'base64' && /^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (encoding !== 'hex' && /^[a-z0-9+/]{43}=?$/i.test(text)) {
    const bytes = Buffer.from(text, 'base64')
    if (bytes.toString('base64') === text.padEnd(44, '=')) return bytes
  }
  return 'signature_malformed'
}

/** Throws if a key of a parsed value can pollute a prototype. */
export function requireNoPollution(value, depth = 0) {
  if (typeof value !== 'object' || value === null || value instanceof Date) return
  require(depth < 80, 'the value is nested too deeply')
  for (const key of Object.keys(value)) {
    require(key !== '__proto__', 'the value contains __proto__')
    const isClass = key === 'constructor' && Object.hasOwn(Object(value[key]), 'prototype')
    require(!isClass, 'the value contains constructor.prototype')
    requireNoPollution(value[key], depth + 1)
  }
  const { polluted } = {}
  require(polluted === undefined, 'Object.prototype is polluted')
}
