import type { Diagnosis } from '../../index.ts'
import type { HeaderPairs } from '../io/http.ts'

const isSecret = (name: string): boolean => name.toLowerCase() === 'secret'

/**
 * The headers as they may be kept: without keys. An organization sends its key as it is, in the header `secret`.
 *
 * @param keys all that are known
 */
export function withoutSecrets(headers: HeaderPairs, keys: readonly string[]): HeaderPairs {
  // Node reads a header's bytes as one character each: a key may have come in UTF-8, or in Latin-1 as it is.
  const known = new Set(keys.flatMap((key) => [key, Buffer.from(key).toString('latin1')]))
  return headers.map(([name, value]) => [name, isSecret(name) || known.has(value) ? '***' : value])
}

/** What a diagnosis does not say: that a sender like this has no signature to send. */
export const noteOn = ({ cause }: Diagnosis, headers: HeaderPairs): string | undefined =>
  cause === 'signature_header_missing' && headers.some(([name]) => isSecret(name))
    ? 'This sender sends its key in clear in the header secret, and does not sign: no setting makes it sign.'
    : undefined
