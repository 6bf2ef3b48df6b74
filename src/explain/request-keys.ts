import { utf8 } from '../shared/bytes.ts'
import {
  findKeyError,
  type ReadKeys,
  type ReturnedKeys,
  readReturned,
  type TenantKeys,
  toKeyList,
} from '../signature/keyring.ts'
import type { KeyFunction, Question } from './question.ts'
import { type Head, readKeys } from './request.ts'
import type { Finding } from './types.ts'

/** The keys of the receiver that refused the request. */
export interface KeySource {
  /** Passed to the receiver that is asked. A key function is the caller's, and what it returns is recorded. */
  readonly signatureKey: readonly Uint8Array[] | KeyFunction
  /** The keys for the request. Empty without a key, or before the receiver calls the key function. */
  readonly keys: readonly Uint8Array[]
  /** Why the receiver has no key for the request, if it has called the key function. */
  readonly finding: Finding | undefined
  /** False if the key function failed, or returned an object without a valid tenant. */
  readonly isNamed: boolean
  /** Calls the key function if the receiver has not called it. Returns the keys. */
  read(head: Head): Promise<readonly Uint8Array[]>
}

/** Returns a random key, for questions that do not depend on the key. */
export const createDecoy = (): Uint8Array => utf8(crypto.randomUUID())

export function createKeySource({ signatureKey, unsigned, url = '/' }: Question): KeySource {
  if (typeof signatureKey === 'function') return createFunctionSource(signatureKey, url)
  const keys = readKeys(signatureKey)
  const isKeyless = unsigned === 'accept' && signatureKey === undefined
  return {
    // As the receiver does. The keys are bytes, because a receiver rejects text with white space around it.
    signatureKey: isKeyless ? () => null : keys,
    keys,
    finding: undefined,
    isNamed: true,
    read: async () => keys,
  }
}

function createFunctionSource(given: KeyFunction, url: string): KeySource {
  let keys: readonly Uint8Array[] = []
  let finding: Finding | undefined
  let isCalled = false
  let isNamed = false

  async function signatureKey(head: Head): Promise<ReturnedKeys> {
    isCalled = true
    finding = {
      cause: 'key_unavailable',
      evidence: 'The signatureKey function throws or rejects for this request.',
    }
    const returned = await given(head)
    const read = readReturned(returned)
    isNamed = !read.error
    finding = findInvalid(read, returned, url)
    keys = finding ? [] : readKeys(read.keys)
    return returned
  }

  return {
    signatureKey,
    get keys() {
      return keys
    },
    get finding() {
      return finding
    },
    get isNamed() {
      return isNamed
    },
    async read(head) {
      if (!isCalled) await signatureKey(head).catch(() => {})
      return keys
    },
  }
}

/** Explains what a key function has returned, unless the receiver can use it. */
function findInvalid(
  { keys, tenant, error }: ReadKeys,
  returned: ReturnedKeys,
  url: string,
): Finding | undefined {
  const keyError = error ?? (keys && findKeyError(keys, true))
  if (keyError) {
    const evidence = `The receiver rejects what the signatureKey function returns: ${keyError.message}.`
    return { cause: 'key_invalid', evidence }
  }
  if (keys) return undefined
  const given = tenant === undefined ? returned : (returned as TenantKeys).keys
  const what =
    given === null || given === undefined ? String(given) : given === '' ? 'an empty text' : 'an empty list'
  const name = tenant === undefined ? '' : ' and the name of a tenant'
  return {
    cause: 'key_unknown',
    evidence: `The signatureKey function returns ${what}${name} for ${describePath(url)}.`,
  }
}

/** Returns the reason if an unsigned request is refused because the key function names no valid tenant. */
export async function findUnnamed(source: KeySource, head: Head): Promise<Finding | undefined> {
  await source.read(head)
  return source.isNamed ? undefined : source.finding
}

/** Finds a key that is empty. Its signatures could match those of a sender whose key is empty too. */
export function findEmptyKey({ signatureKey }: KeySource): Finding | undefined {
  if (typeof signatureKey === 'function') return undefined
  if (signatureKey.length > 0 && signatureKey.every((key) => key.length > 0)) return undefined
  const subject = signatureKey.length > 1 ? 'One of the keys' : 'The key'
  return {
    cause: 'key_empty',
    evidence: `${subject} on this side is empty, blank, all zero bytes, or not set.`,
  }
}

/** Explains keys with which no receiver can be created, although a signature may match. */
export function findRejectedKeys({ signatureKey }: Question): Finding | undefined {
  if (typeof signatureKey === 'function' || signatureKey === undefined || signatureKey === null)
    return undefined
  const error = findKeyError(toKeyList(signatureKey), true)
  return error && { cause: 'key_invalid', evidence: `A receiver rejects this key: ${error.message}.` }
}

/** Names the path without its query. Paths with unusual characters could fake other text, and are not repeated. */
function describePath(url: string): string {
  const [, path = ''] = /^(?:\w+:\/\/[^/?#]*)?([^?#]*)/.exec(url) ?? []
  return /^\/[\w./~%:@-]{0,199}$/.test(path) ? `the path ${path}` : 'this request'
}
