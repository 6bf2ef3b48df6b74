import { findKeyError, type SignatureKeys, toKeyList } from '../signature/keyring.ts'
import type { Question } from './question.ts'
import { readKeys } from './request.ts'
import type { Finding } from './types.ts'

/** The keys for a request, or why the receiver has none. */
export type FoundKeys = { keys: readonly Uint8Array[]; finding?: Finding }

/** Returns the keys for the request, as a receiver with the same options finds them. */
export async function findKeys(
  { signatureKey, method = 'POST', url = '/', params, remoteAddress }: Question,
  headers: ReadonlyMap<string, string>,
): Promise<FoundKeys> {
  if (typeof signatureKey !== 'function') return { keys: readKeys(signatureKey) }
  let keys: SignatureKeys | null | undefined
  try {
    const request = { method, url, headers: Object.fromEntries(headers), params, remoteAddress }
    keys = await signatureKey(request)
  } catch {
    return failed('key_unavailable', 'The signatureKey function throws or rejects for this request.')
  }
  if (keys === null || keys === undefined || keys.length === 0) {
    const returned =
      keys === null || keys === undefined ? String(keys) : keys === '' ? 'an empty text' : 'an empty list'
    return failed('key_unknown', `The signatureKey function returns ${returned} for ${describePath(url)}.`)
  }
  const error = findKeyError(toKeyList(keys), true)
  if (error)
    return failed(
      'key_invalid',
      `The receiver rejects what the signatureKey function returns: ${error.message}.`,
    )
  return { keys: readKeys(keys) }
}

const failed = (cause: Finding['cause'], evidence: string): FoundKeys => ({
  keys: [],
  finding: { cause, evidence },
})

/** Names the path without its query. Paths with unusual characters could fake other text, and are not repeated. */
function describePath(url: string): string {
  const [, path = ''] = /^(?:\w+:\/\/[^/?#]*)?([^?#]*)/.exec(url) ?? []
  return /^\/[\w./~%:@-]{0,199}$/.test(path) ? `the path ${path}` : 'this request'
}

/** Finds a key that is empty. Its signatures could match those of a sender whose key is empty too. */
export function findEmptyKey(keys: readonly Uint8Array[]): Finding | undefined {
  if (keys.length > 0 && keys.every((key) => key.length > 0)) return undefined
  const subject = keys.length > 1 ? 'One of the keys' : 'The key'
  return {
    cause: 'key_empty',
    evidence: `${subject} on this side is empty, blank, all zero bytes, or not set.`,
  }
}
