import { importKey } from '#runtime'
import type { HmacKey } from '../runtime/hmac.ts'
import { concat, toBase64, utf8 } from '../shared/bytes.ts'
import { builtin, fromHex, toHex } from './bytes.ts'
import type { BytesOrText, Hypothesis } from './types.ts'

/** The part of node:crypto that is used here. */
interface NodeCrypto {
  createHash(hash: string): State
  createHmac(hash: string, key: BytesOrText): State
}
interface State {
  update(data: BytesOrText): State
  digest(encoding: 'hex'): string
}

const node = builtin('node:crypto') as NodeCrypto | undefined

const WEB: Readonly<Record<string, string>> = {
  sha1: 'SHA-1',
  sha256: 'SHA-256',
  sha384: 'SHA-384',
  sha512: 'SHA-512',
}

/** Replaces an empty key, which WebCrypto rejects. HMAC pads short keys with zeros (RFC 2104), so it is the same key. */
const EMPTY = new Uint8Array(1)

/** A digest in lower-case hex. Undefined if the platform lacks the hash. */
type Digest = string | undefined | Promise<string | undefined>

/** Computes an HMAC-SHA256, the algorithm that services sign with, in lower-case hex. */
export type Sign = (message: Uint8Array) => string | Promise<string>

/** Creates a function that signs messages as services do. The key is imported once, on first use. */
export function createSign(key: BytesOrText): Sign {
  let imported: HmacKey | undefined
  return (message) => {
    imported ??= importKey(key.length > 0 ? key : EMPTY)
    return imported.start().digest(message)
  }
}

export const hmacSha256 = (key: BytesOrText, message: Uint8Array): string | Promise<string> =>
  createSign(key)(message)

/** Returns the index of the key with which a signature was computed, or -1. */
export async function findSigner(
  keys: readonly Uint8Array[],
  body: Uint8Array,
  signature: Uint8Array,
): Promise<number> {
  const hex = toHex(signature)
  for (const [index, key] of keys.entries()) if ((await hmacSha256(key, body)) === hex) return index
  return -1
}

/** Computes an HMAC. The hash has the name that node:crypto has for it. */
function hmac(hash: string, key: BytesOrText, message: BytesOrText): Digest {
  if (node) return inNode(() => node.createHmac(hash, key), [message])
  const algorithm = { name: 'HMAC', hash: WEB[hash] ?? '' }
  return inWeb(algorithm.hash, async () => {
    const bytes = toSource(key.length > 0 ? key : EMPTY)
    const imported = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign'])
    return crypto.subtle.sign('HMAC', imported, toSource(message))
  })
}

export function hashOf(hash: string, ...parts: readonly BytesOrText[]): Digest {
  if (node) return inNode(() => node.createHash(hash), parts)
  const name = WEB[hash]
  return inWeb(name, () => crypto.subtle.digest(name as string, concat(parts.map(toSource))))
}

/** The first 16 bits of a SHA-256, in hex: enough to compare both sides, but too little to verify a guessed key. */
export const fingerprint = async (bytes: Uint8Array): Promise<string | undefined> =>
  (await hashOf('sha256', bytes))?.slice(0, 4)

/** OpenSSL can be built without some hashes, and BoringSSL (Electron, Bun) lacks others. */
function inNode(create: () => State, parts: readonly BytesOrText[]): string | undefined {
  try {
    const state = create()
    for (const part of parts) state.update(part)
    return state.digest('hex')
  } catch {
    return undefined
  }
}

const inWeb = async (
  hash: string | undefined,
  compute: () => Promise<ArrayBuffer>,
): Promise<string | undefined> => (hash ? toHex(new Uint8Array(await compute())) : undefined)

/** Narrows the type, because WebCrypto does not accept bytes in shared memory. Bodies and keys are never in it. */
const toSource = (value: BytesOrText): Uint8Array<ArrayBuffer> =>
  typeof value === 'string' ? utf8(value) : (value as Uint8Array<ArrayBuffer>)

export interface Algorithm {
  /** Completes the sentence "The signature is …". */
  description: string
  /** Size of the digest in bytes. Undefined if senders often truncate it to another size. */
  size?: number | undefined
  /** True if the key is not used, so that anyone can compute it. */
  isKeyless?: boolean
  /** True for a plain hash of the key and the body. With an empty key, it is keyless too. */
  isHash?: boolean
  compute(key: BytesOrText, body: BytesOrText): Digest
}

type Hash = readonly [id: string, name: string, size: number]

const SHA256: Hash = ['sha256', 'SHA-256', 32]

/** Other hashes, likely ones first. WebCrypto has only the first three. */
const HASHES: readonly Hash[] = [
  ['sha1', 'SHA-1', 20],
  ['sha512', 'SHA-512', 64],
  ['sha384', 'SHA-384', 48],
  ['md5', 'MD5', 16],
  ['sha224', 'SHA-224', 28],
]

/** Hashes that senders combine with a key in ways of their own. */
const COMMON: readonly Hash[] = [SHA256, ...HASHES.filter(([id]) => /^(sha1|sha512|md5)$/.test(id))]

/** The first four are those that senders confuse most often. */
export const ALGORITHMS: readonly Algorithm[] = [
  ...[...HASHES, ['sha3-256', 'SHA3-256', 32] as const].map(
    ([hash, name, size]): Algorithm => ({
      description: `HMAC-${name} instead of HMAC-SHA256`,
      size: hash === 'sha512' ? undefined : size,
      compute: (key, body) => hmac(hash, key, body),
    }),
  ),
  ...COMMON.map(
    ([hash, name, size]): Algorithm => ({
      description: `HMAC-${name.replace('-', '')} with the key and the body swapped`,
      size,
      compute: (key, body) => hmac(hash, body, key),
    }),
  ),
  ...[SHA256, ...HASHES].flatMap(plainHashes),
]

function plainHashes([hash, name, size]: Hash): Algorithm[] {
  const plain = (what: string, parts: (...given: BytesOrText[]) => BytesOrText[]): Algorithm => ({
    description: `a plain ${name} hash of ${what}`,
    size,
    isHash: true,
    compute: (key, body) => hashOf(hash, ...parts(key, body)),
  })
  const keyless = plain('the body, without the key', (_, body = '') => [body])
  return [
    { ...keyless, isHash: false, isKeyless: true },
    ...['', '.', ':', '|', '\n'].flatMap((by) => {
      const then = by ? `, ${JSON.stringify(by)} and` : ' followed by'
      return [
        plain(`the key${then} the body`, (key = '', body = '') => [key, by, body]),
        plain(`the body${then} the key`, (key = '', body = '') => [body, by, key]),
      ]
    }),
    plain('the key, the body and the key again', (key = '', body = '') => [key, body, key]),
  ]
}

/** Computes the common hashes. Leaves out those that the platform lacks. */
export async function commonHashes(data: Uint8Array): Promise<[name: string, digest: Uint8Array][]> {
  const hashes: [string, Uint8Array][] = []
  for (const [hash, name] of COMMON) {
    const digest = fromHex((await hashOf(hash, data)) ?? 'x')
    if (digest) hashes.push([name, digest])
  }
  return hashes
}

/** Returns hashes of a body, which the sender may have signed in place of the body. */
export const hashedBodies = async (body: Uint8Array): Promise<Hypothesis[]> =>
  (await commonHashes(body)).flatMap(([name, digest]) =>
    [toHex(digest), digest, toBase64(digest)].map(
      (value): Hypothesis => ['algorithm', value, `the ${name} hash of the body instead of the body`],
    ),
  )
