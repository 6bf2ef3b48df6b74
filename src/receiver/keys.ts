import { importKey } from '#hmac'
import type { WebhookErrorOptions } from '../errors.ts'
import { utf8 } from '../signature/bytes.ts'
import type { HmacKey } from '../signature/hmac.ts'
import {
  findKeyError,
  type Keyring,
  type ReturnedKeys,
  readReturned,
  type SignatureKey,
} from '../signature/keyring.ts'
import { guard } from './guard.ts'
import type { Seen } from './observer.ts'
import type { RequestHead } from './request.ts'

/**
 * Returns the keys for one request, or `{ keys, tenant }` to also name their tenant. For an unknown tenant, returns null,
 * undefined or an empty list as the keys.
 */
export type KeyFunction = (request: RequestHead) => ReturnedKeys | Promise<ReturnedKeys>

/** The keys with which one request is verified. */
export interface FoundKeys {
  /** The keys that are valid for the request, newest first, followed by decoys: keys that senders cannot know. */
  keyring: Keyring
  /** Number of valid keys in the keyring. 0 if there is no usable key for the request. */
  count: number
  /** The tenant that the key function returned. */
  tenant?: string | undefined
  /** Set if the key function returned an object without a valid tenant. */
  tenantError?: WebhookErrorOptions | undefined
  /** The reason why the keys from the key function are unusable. */
  keyError?: WebhookErrorOptions | undefined
  /** The random text from which decoys are made; empty without a key function. */
  secret: string
}

/** Finds the keys of a request, and sets `seen.tenant` for the observer. @throws {WebhookError} `key_unavailable` */
export type FindKeys = (seen: Seen) => FoundKeys | Promise<FoundKeys>

/**
 * Returns the function that finds the keys of each request. With a key function every request takes the same time, so
 * that timing does not reveal which tenants exist. Decoys extend each keyring to the largest size so far. Each decoy is
 * as long as the longest key so far at its index, and a string or bytes like the latest one. Every key is imported and
 * checked for each request.
 */
export function createKeyFinder(keys: Keyring | KeyFunction): FindKeys {
  if (typeof keys !== 'function') return () => ({ keyring: keys, count: keys.length, secret: '' })
  let secret = ''
  const decoys: SignatureKey[] = []
  return (seen) =>
    // The result of a key function can have getters that throw, so all reads are guarded.
    guard('key_unavailable', async () => {
      const { keys: given, tenant, error: tenantError } = readReturned(await keys(seen.request))
      seen.tenant = tenant
      // Created on the first request, because Cloudflare Workers cannot generate random values before it.
      secret ||= crypto.randomUUID()
      decoys[0] ??= secret
      const list = given ?? decoys
      const listError = findKeyError(list, true)
      const keyError = tenantError ?? listError
      const valid = keyError ? decoys : list
      const keyring: HmacKey[] = []
      for (let index = 0; index < Math.max(valid.length, decoys.length); index++) {
        const key = valid[index] ?? (decoys[index] as SignatureKey)
        decoys[index] = adaptDecoy(decoys[index] ?? secret, key, secret)
        keyring.push(importKey(key))
      }
      const count = given && !keyError ? list.length : 0
      return { keyring, count, tenant, tenantError, keyError, secret }
    })
}

/** Returns a decoy of the type of `key`, and at least as long: strings take longer to import than bytes. */
function adaptDecoy(decoy: SignatureKey, key: SignatureKey, secret: string): SignatureKey {
  if (typeof decoy === typeof key && decoy.length >= key.length) return decoy
  const text = ''.padEnd(Math.max(decoy.length, key.length), secret)
  return typeof key === 'string' ? text : utf8(text)
}
