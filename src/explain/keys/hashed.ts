import { toBase64 } from '../../shared/bytes.ts'
import { fromHex } from '../codecs.ts'
import { hashOf } from '../digests.ts'
import { trim } from '../text.ts'
import type { Hypothesis } from '../types.ts'
import { joinedKeys } from './lists.ts'

const HASHES = [
  ['sha256', 'SHA-256'],
  ['md5', 'MD5'],
  ['sha1', 'SHA-1'],
  ['sha512', 'SHA-512'],
] as const

/** Returns hashes of each key, and the keys joined to one text. */
export async function hashesAndLists(keys: readonly Uint8Array[]): Promise<Hypothesis[]> {
  return [...(await Promise.all(keys.map(hashedKeys))).flat(), ...joinedKeys(keys)]
}

/** Returns hashes of a key, which the sender may have used in place of the key. */
async function hashedKeys(key: Uint8Array): Promise<Hypothesis[]> {
  const hypotheses: Hypothesis[] = []
  for (const [hash, name] of HASHES) {
    const hex = await hashOf(hash, trim(key))
    if (hex === undefined) continue
    const digest = fromHex(hex) as Uint8Array
    hypotheses.push(
      ['key_hashed', hex, `the ${name} of the key in hex`],
      ['key_hashed', digest, `the ${name} of the key`],
      ['key_hashed', toBase64(digest), `the ${name} of the key in base64`],
      ['key_hashed', hex.toUpperCase(), `the ${name} of the key in upper-case hex`],
    )
  }
  return hypotheses
}
