import { importKey } from '#hmac'
import type { WebhookErrorOptions } from '../errors.ts'
import type { HmacKey } from '../signature/hmac.ts'
import { findKeyError, type Keyring, type SignatureKeys, toKeyList } from '../signature/keyring.ts'
import { guard } from './guard.ts'
import type { RequestHead } from './request.ts'

/** Returns the keys for one request; nothing or an empty list if there is no key for it. */
export type KeyFunction = (
  request: RequestHead,
) => SignatureKeys | null | undefined | Promise<SignatureKeys | null | undefined>

/** The keys to check one request with. */
export interface FoundKeys {
  /** The keys that are valid for the request, newest first, and then decoys. */
  keyring: Keyring
  /** Number of valid keys: 0 if there is no key for the request. */
  count: number
  /** Why the keys that a key function returned are unusable. */
  keyError?: WebhookErrorOptions | undefined
  /** The random text that decoys consist of; empty if all requests have the same keys. */
  secret: string
}

/** @throws {WebhookError} `key_unavailable` */
export type FindKeys = (request: RequestHead) => FoundKeys | Promise<FoundKeys>

/**
 * Returns the function that finds the keys of each request. With a key function every request costs the same, so that
 * timing does not show which tenants exist: all rings have as many keys as the largest one so far, decoys are as long
 * as the longest keys so far, and all are checked and imported for each request.
 */
export function createKeyFinder(keys: Keyring | KeyFunction): FindKeys {
  if (typeof keys !== 'function') return () => ({ keyring: keys, count: keys.length, secret: '' })
  let secret = ''
  const decoys: string[] = []
  return async (request) => {
    const given = await guard('key_unavailable', () => keys(request))
    // Created here, because workers have random numbers only while they process a request.
    secret ||= crypto.randomUUID()
    decoys[0] ??= secret
    const isKnown = given !== null && given !== undefined && given.length !== 0
    const list = toKeyList(isKnown ? given : decoys)
    const keyError = findKeyError(list, true)
    const valid = keyError ? decoys : list
    const keyring: HmacKey[] = []
    for (let index = 0; index < Math.max(valid.length, decoys.length); index++) {
      const key = valid[index] ?? (decoys[index] as string)
      decoys[index] = (decoys[index] ?? secret).padEnd(key.length, secret)
      keyring.push(importKey(key))
    }
    return { keyring, count: isKnown && !keyError ? list.length : 0, keyError, secret }
  }
}
