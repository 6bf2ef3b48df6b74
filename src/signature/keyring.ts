import { importKey } from '#hmac'
import { configInvalid } from '../errors.ts'
import type { HmacKey } from './hmac.ts'

/** A shared secret: a string (its UTF-8 bytes) or the bytes themselves. */
export type SignatureKey = string | Uint8Array

/** One key, or several while they rotate, newest first. */
export type SignatureKeys = SignatureKey | readonly SignatureKey[]

/** The keys that are good for one request, newest first, ready for use. */
export type Keyring = readonly HmacKey[]

/** The keys as a list, whatever form they came in. */
export const toKeyList = (keys: SignatureKeys): readonly SignatureKey[] =>
  typeof keys === 'string' || keys instanceof Uint8Array ? [keys] : keys

/**
 * Imports the keys once, for many signatures.
 *
 * @throws {WebhookError} `config_invalid` for no key, an empty one, a blank one, or something that is no key
 */
export function createKeyring(keys: SignatureKeys): Keyring {
  const list = toKeyList(keys)
  if (!Array.isArray(list) || list.length === 0) throw configInvalid('signatureKey is missing')
  // Spread first: map() alone skips the holes of a sparse list.
  return [...list].map((key) => importKey(requireKey(key)))
}

/**
 * Refuses keys with white space around them: a signatureKey is alphanumeric (specification, "Edit a webhook"),
 * so the white space came along with a file or a copied line, and no signature would ever match.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireTrimmed(keys: SignatureKeys): void {
  for (const key of toKeyList(keys)) {
    if (typeof key === 'string' && key !== key.trim()) {
      throw configInvalid('signatureKey has white space around it', 'Trim it, or give it as bytes.')
    }
  }
}

function requireKey(key: SignatureKey): SignatureKey {
  const given = typeof key === 'string' ? key.trim() && key : key
  if (typeof given !== 'string' && !(given instanceof Uint8Array))
    throw configInvalid('signatureKey must be a string or bytes')
  if (given.length === 0) throw configInvalid('signatureKey is empty')
  return given
}
