import { importKey } from '#runtime'
import { WebhookError, type WebhookErrorOptions } from '../errors.ts'
import { describeMissing } from '../options.ts'
import type { HmacKey } from '../runtime/hmac.ts'

/** A shared secret. A string means its UTF-8 bytes. */
export type SignatureKey = string | Uint8Array

/** One key, or several during a key rotation, newest first. */
export type SignatureKeys = SignatureKey | readonly SignatureKey[]

/** The keys of one tenant, and its name. */
export interface TenantKeys {
  /** The tenant's keys, newest first; null, undefined or an empty list for an unknown tenant. */
  keys: SignatureKeys | null | undefined
  /**
   * Name of the tenant: 1 to 200 characters, without control characters and unpaired surrogates. Return a name for
   * unknown tenants too: then all paths of a tenant get the same response to a handshake, whether it exists or not.
   */
  tenant: string
}

/** The result of a key function. */
export type ReturnedKeys = SignatureKeys | TenantKeys | null | undefined

/** The imported keys with which one request is verified, newest first. */
export type Keyring = readonly HmacKey[]

/** The keys of a receiver without a key function. */
export interface KeySource {
  /** Returns a promise while a file with keys is read. */
  current(clock: () => number): Keyring | Promise<Keyring>
  /** Reads the file again before a signature is refused. Resolves with the same keyring if it has not changed. */
  renew?: () => Promise<Keyring>
}

/** Keys in a file that may change while a receiver runs: the result of `keyring` of `geohook/node`. */
export interface KeyringFile {
  /** The absolute path of the file. */
  readonly path: string
}

/** The member of a {@link KeyringFile} that receivers and tools use. The symbol is the same in all builds. */
export const KEYRING_PORT: unique symbol = /* @__PURE__ */ Symbol.for('geohook.keyring')

/** A key source whose keys are known as text. */
export interface KeyringPort extends Required<KeySource> {
  /** The keys of the last valid content of the file, newest first. */
  keys(): readonly string[]
}

/** Returns the port of a keyring; undefined for anything else. */
export const keyringPort = (given: unknown): KeyringPort | undefined =>
  (given as { [KEYRING_PORT]?: KeyringPort } | null | undefined)?.[KEYRING_PORT]

/** Maximum number of keys. Each key costs one HMAC over the body of every request. */
export const MAX_KEYS = 100

/** Returns the keys as a list. */
export const toKeyList = (keys: SignatureKeys): readonly SignatureKey[] =>
  typeof keys === 'string' || keys instanceof Uint8Array ? [keys] : keys

/**
 * Imports keys once, for any number of signatures.
 *
 * @throws {WebhookError} `config_invalid` for an empty list, more than 100 keys, or a key that is empty, blank, all
 *   zero bytes, or neither a string nor bytes
 */
export function createKeyring(keys: SignatureKeys, mustBeTrimmed = false): Keyring {
  const list = toKeyList(keys)
  const error = findKeyError(list, mustBeTrimmed)
  if (error) throw new WebhookError('config_invalid', error)
  return list.map((key) => importKey(key))
}

const TENANT = /^[^\p{Cc}\p{Cs}]{1,200}$/u
const MAX_TENANT = 400 // a character has at most two UTF-16 code units

/** Returns true for a valid tenant name. */
export const isTenant = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_TENANT && TENANT.test(value)

/** The result of a key function, before its keys are checked. */
export interface ReadKeys {
  /** Undefined for an unknown tenant. */
  keys?: readonly SignatureKey[] | undefined
  tenant?: string | undefined
  /** Set if the function returned an object without a valid tenant, or with other members. */
  error?: WebhookErrorOptions | undefined
}

/** Reads the result of a key function, which can have any type. @throws the errors of its getters */
export function readReturned(returned: ReturnedKeys): ReadKeys {
  if (!isNamed(returned)) return { keys: toKeys(returned) }
  const { keys, tenant } = returned
  const isKnown = Object.keys(returned).every((name) => name === 'keys' || name === 'tenant')
  if (!isKnown || !('keys' in returned)) return { error: { message: SHAPE } }
  if (!isTenant(tenant)) return { error: { message: INVALID_TENANT } }
  return { keys: toKeys(keys), tenant }
}

const isNamed = (returned: ReturnedKeys): returned is TenantKeys =>
  typeof returned === 'object' &&
  returned !== null &&
  !Array.isArray(returned) &&
  !(returned instanceof Uint8Array)

const toKeys = (keys: SignatureKeys | null | undefined): readonly SignatureKey[] | undefined =>
  keys === null || keys === undefined || keys.length === 0 ? undefined : toKeyList(keys)

const SHAPE = 'the signatureKey function must return keys, or { keys, tenant }'
const INVALID_TENANT =
  'tenant must be 1 to 200 characters, none of them a control character or an unpaired surrogate'
const UNTRIMMED = 'Remove the white space, or pass the key as bytes if the white space belongs to it.'

/**
 * Checks a list of keys. Returns the options of the error for the first invalid key, or `undefined` if all are valid.
 *
 * @param mustBeTrimmed reject strings with white space around them. Signature keys are alphanumeric
 *   (docs/specification.md, "Edit a webhook"), so white space around a key is a copying mistake, and no signature would
 *   ever match
 */
export function findKeyError(
  keys: readonly SignatureKey[],
  mustBeTrimmed: boolean,
): WebhookErrorOptions | undefined {
  if (keys === undefined || keys === null) return { message: describeMissing('signatureKey', keys) }
  if (!Array.isArray(keys)) return { message: 'signatureKey must be a string or bytes, or a list of them' }
  if (keys.length === 0) return { message: 'signatureKey is an empty list' }
  if (keys.length > MAX_KEYS) return { message: `signatureKey has more than ${MAX_KEYS} keys` }
  // list.some() would skip the holes of a sparse array.
  for (const key of keys) {
    if (key === undefined || key === null || (isKey(key) && isEmpty(key)))
      return { message: describeMissing('signatureKey', key) }
    if (!isKey(key)) return { message: 'signatureKey must be a string or bytes' }
    if (mustBeTrimmed && typeof key === 'string' && key !== key.trim())
      return { message: 'signatureKey has white space around it', hint: UNTRIMMED }
  }
  return undefined
}

const isKey = (key: unknown): key is SignatureKey => typeof key === 'string' || key instanceof Uint8Array

/**
 * Returns true for keys that are empty, blank or all zero bytes. HMAC pads keys with zeros (RFC 2104), so a key of
 * zeros is equivalent to the empty key, with which anyone can sign.
 */
export const isEmpty = (key: SignatureKey): boolean =>
  typeof key === 'string' ? !/[^\s\0]/.test(key) : key.every((byte) => byte === 0)
