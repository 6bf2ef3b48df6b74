import { concat } from '../bytes.ts'
import type { Finding, Variant } from './explain-types.ts'
import type { ReceivedRequest } from './read-request.ts'
import { containsDigest, hashOf, hmac, hmacSha256 } from './recompute.ts'

/** Finds a signature of the same body with the same key, but with another algorithm. */
export async function findOtherAlgorithm(request: ReceivedRequest): Promise<Finding | undefined> {
  for await (const [digest, description] of otherDigests(request.body, request.keys)) {
    if (containsDigest(request.decoded, digest))
      return { cause: 'algorithm', evidence: `The signature is ${description}.` }
  }
  return undefined
}

async function* otherDigests(body: Uint8Array, keys: readonly Uint8Array[]): AsyncGenerator<Variant> {
  for (const hash of ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']) {
    yield [await hashOf(hash, body), `a plain ${hash} hash of the body, without the key`]
    for (const key of keys) {
      if (hash !== 'SHA-256') yield [await hmac(hash, key, body), `HMAC-${hash} instead of HMAC-SHA256`]
      yield [await hashOf(hash, concat([key, body])), `a plain ${hash} hash of the key followed by the body`]
      yield [await hashOf(hash, concat([body, key])), `a plain ${hash} hash of the body followed by the key`]
    }
  }
  for (const key of keys) yield [await hmacSha256(body, key), 'HMAC-SHA256 with the key and the body swapped']
}
