import { importKey } from '#hmac'
import { WebhookError, type WebhookErrorOptions } from '../errors.ts'
import type { HmacKey } from './hmac.ts'

/** A shared secret: a string (its UTF-8 bytes) or the bytes themselves. */
export type SignatureKey = string | Uint8Array

/** One key, or several while they rotate, newest first. */
export type SignatureKeys = SignatureKey | readonly SignatureKey[]

/** The keys that are good for one request, newest first, ready for use. */
export type Keyring = readonly HmacKey[]

/** Each key costs an HMAC over the body of every request. */
const MAX_KEYS = 100

/** The keys as a list, whatever form they came in. */
export const toKeyList = (keys: SignatureKeys): readonly SignatureKey[] =>
  typeof keys === 'string' || keys instanceof Uint8Array ? [keys] : keys

/**
 * Imports the keys once, for many signatures.
 *
 * @throws {WebhookError} `config_invalid` for no keys or more than 100, and for a key that is empty, blank, all zero
 *   bytes, or neither a string nor bytes
 */
export function createKeyring(keys: SignatureKeys, mustBeTrimmed = false): Keyring {
  const list = toKeyList(keys)
  const flaw = flawOf(list, mustBeTrimmed)
  if (flaw) throw new WebhookError('config_invalid', flaw)
  return list.map((key) => importKey(key))
}

/**
 * Returns what makes a list of keys unusable, or undefined.
 *
 * @param mustBeTrimmed reject strings with white space around them: a signatureKey is alphanumeric (specification,
 *   "Edit a webhook"), so the white space came from a file or a copied line, and no signature would ever match
 */
export function flawOf(
  keys: readonly SignatureKey[],
  mustBeTrimmed: boolean,
): WebhookErrorOptions | undefined {
  if (!Array.isArray(keys) || keys.length === 0) return { message: 'signatureKey is missing' }
  if (keys.length > MAX_KEYS) return { message: `signatureKey has over ${MAX_KEYS} keys` }
  // Unlike find(), the loop sees the holes of a sparse array.
  for (const key of keys) {
    if (typeof key !== 'string' && !(key instanceof Uint8Array))
      return { message: 'signatureKey must be a string or bytes' }
    if (isEmpty(key)) return { message: 'signatureKey is empty' }
    if (mustBeTrimmed && typeof key === 'string' && key !== key.trim())
      return { message: 'signatureKey has white space around it', hint: 'Trim it, or give it as bytes.' }
  }
  return undefined
}

/**
 * Returns true for keys that are empty, blank or all zero bytes. HMAC pads keys with zeros (RFC 2104), so zeros are the
 * empty key, which anyone can sign with.
 */
export const isEmpty = (key: SignatureKey): boolean =>
  typeof key === 'string' ? !/[^\s\0]/.test(key) : key.every((byte) => byte === 0)
