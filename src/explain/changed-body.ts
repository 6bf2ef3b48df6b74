import { toBase64 } from '../shared/bytes.ts'
import { fromHex } from './codecs.ts'
import { hashOf } from './digests.ts'
import type { ReceivedRequest } from './request.ts'
import type { Finding } from './types.ts'

/** Headers with a hash of the body (RFC 9530, RFC 3230, RFC 1864): where the hash is in the value, and which it is. */
const HASHES: readonly [name: string, pattern: RegExp, hash: string][] = [
  ['content-digest', /(?:^|[,\s])sha-256=:([\w+/]{43}=):/i, 'sha256'],
  ['repr-digest', /(?:^|[,\s])sha-256=:([\w+/]{43}=):/i, 'sha256'],
  ['digest', /(?:^|[,\s])sha-256=([\w+/]{43}=)/i, 'sha256'],
  ['content-md5', /^\s*([\w+/]{22}==)\s*$/, 'md5'],
]

/** Finds a header that proves that the body changed on its way. */
export async function findChangedBody({
  body,
  headers,
  isInField,
}: ReceivedRequest): Promise<Finding | undefined> {
  if (isInField) return undefined // only a part of the body is known here
  const length = headers.get('content-length') ?? ''
  if (/^\d{1,15}$/.test(length) && Number(length) !== body.length) {
    const evidence = `The header content-length says ${length} bytes, but the body on this side has ${body.length}.`
    return { cause: 'body_changed', evidence }
  }
  for (const [name, pattern, hash] of HASHES) {
    const sent = pattern.exec(headers.get(name) ?? '')?.[1]
    const computed = sent && (await hashOf(hash, body))
    if (computed && toBase64(fromHex(computed) as Uint8Array) !== sent)
      return {
        cause: 'body_changed',
        evidence: `The header ${name} has the hash of another body than the one on this side.`,
      }
  }
  return undefined
}
