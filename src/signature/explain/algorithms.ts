import { concat } from '../bytes.ts'
import type { Case } from './read-request.ts'
import { type Finding, hmac, holds, mac, view } from './recompute.ts'

/** Another algorithm over the right bytes with the right key. */
export async function explainAlgorithm({ decoded, body, keys }: Case): Promise<Finding | undefined> {
  for await (const [what, digest] of otherDigests(body, keys)) {
    if (holds(decoded, digest)) return { cause: 'algorithm', evidence: `The signature is ${what}.` }
  }
  return undefined
}

async function* otherDigests(
  body: Uint8Array,
  keys: readonly Uint8Array[],
): AsyncGenerator<[what: string, digest: Uint8Array]> {
  for (const hash of ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']) {
    yield [`plain ${hash} over the body, without the key`, await digest(hash, body)]
    for (const key of keys) {
      if (hash !== 'SHA-256') yield [`HMAC-${hash}`, await hmac(hash, key, body)]
      yield [`plain ${hash} over the key and the body`, await digest(hash, concat([key, body]))]
      yield [`plain ${hash} over the body and the key`, await digest(hash, concat([body, key]))]
    }
  }
  for (const key of keys) {
    yield ['HMAC-SHA256 with the key taken for the body and the body for the key', await mac(body, key)]
  }
}

const digest = async (hash: string, bytes: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest(hash, view(bytes)))
