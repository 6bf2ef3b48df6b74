import type { Diagnosis } from '../../index.ts'
import { HIDDEN, textsOfKeys } from '../../inspector/redact.ts'
import type { HeaderPairs } from '../io/http.ts'

/** Organization webhooks send their key as plain text in the header `secret`. */
const isSecretHeader = (name: string): boolean => name.toLowerCase() === 'secret'

/**
 * Replaces keys in headers with `***`: every value of a `secret` header, and every value that equals a known key.
 *
 * @param keys all known keys
 */
export function redactHeaders(headers: HeaderPairs, keys: readonly string[] = []): HeaderPairs {
  const known = textsOfKeys(keys)
  return headers.map(([name, value]) => [name, isSecretHeader(name) || known.has(value) ? HIDDEN : value])
}

/** Returns a note if the sender may have sent its key as plain text instead of a signature, otherwise undefined. */
export const noteOnSecretHeader = ({ cause }: Diagnosis, headers: HeaderPairs): string | undefined =>
  cause === 'signature_header_missing' && headers.some(([name]) => isSecretHeader(name))
    ? 'The request has a header secret. Organization webhooks send their key in it as plain text and do not sign: no setting makes them sign. To receive them, use the profile portal.'
    : undefined
