import { type Body, toBase64, toBytes, utf8 } from '../shared/bytes.ts'
import { fromHex, toHex } from './codecs.ts'
import { hashOf, hmac } from './digests.ts'
import type { BytesOrText } from './types.ts'

type Digest = string | undefined | Promise<string | undefined>

/** An algorithm that a sender may have used in place of HMAC-SHA256. */
export interface Algorithm {
  /** Completes the sentence "The signature is …". */
  description: string
  /** Size of the digest in bytes. Undefined if senders often truncate it to another size. */
  size?: number | undefined
  /** True if the key is not used, so that anyone can compute it. */
  isKeyless?: boolean
  /** True for a plain hash of the key and the body. With an empty key, it is keyless too. */
  isHash?: boolean
  /** Computes the digest in lower-case hex. Returns undefined if the platform lacks the hash. */
  compute(key: BytesOrText, body: BytesOrText): Digest
}

type Hash = readonly [id: string, name: string, size: number]

const SHA256: Hash = ['sha256', 'SHA-256', 32]

/** Other hashes, by the name that node:crypto has for them, likely ones first. WebCrypto has only the first three. */
const HASHES: readonly Hash[] = [
  ['sha1', 'SHA-1', 20],
  ['sha512', 'SHA-512', 64],
  ['sha384', 'SHA-384', 48],
  ['md5', 'MD5', 16],
  ['sha224', 'SHA-224', 28],
  ['sha512-256', 'SHA-512/256', 32],
  ['sha512-224', 'SHA-512/224', 28],
  ['sha3-256', 'SHA3-256', 32],
  ['sha3-512', 'SHA3-512', 64],
  ['sha3-384', 'SHA3-384', 48],
  ['sha3-224', 'SHA3-224', 28],
  ['ripemd160', 'RIPEMD-160', 20],
  ['blake2b512', 'BLAKE2b-512', 64],
  ['blake2s256', 'BLAKE2s-256', 32],
  ['sm3', 'SM3', 32],
]

/** Hashes that senders combine with a key in ways of their own. */
const COMMON: readonly Hash[] = [SHA256, ...HASHES.filter(([id]) => /^(sha1|sha512|md5)$/.test(id))]

/** Separators between the key and the body, with the way the evidence shows them. */
const SEPARATORS = [
  ['.', '"."'],
  [':', '":"'],
  ['|', '"|"'],
  ['\n', 'a line feed'],
] as const

/** Ways to sign a digest in place of the body. */
const WRITTEN: readonly (readonly [notation: string, write: (digest: Uint8Array) => Uint8Array])[] = [
  ['in hex', (digest) => utf8(toHex(digest))],
  ['in bytes', (digest) => digest],
  ['in base64', (digest) => utf8(toBase64(digest))],
  ['in upper-case hex', (digest) => utf8(toHex(digest).toUpperCase())],
]

export const ALGORITHMS: readonly Algorithm[] = [
  ...HASHES.map(([hash, name, size]) => ({
    description: `HMAC-${name} instead of HMAC-SHA256`,
    size: hash === 'sha512' ? undefined : size,
    compute: (key: BytesOrText, body: BytesOrText) => hmac(hash, key, body),
  })),
  ...COMMON.map(([hash, name, size]) => ({
    description: `HMAC-${name.replace('-', '')} with the key and the body swapped`,
    size,
    compute: (key: BytesOrText, body: BytesOrText) => hmac(hash, body, key),
  })),
  ...[SHA256, ...HASHES].flatMap(([hash, name, size]): Algorithm[] => [
    {
      description: `a plain ${name} hash of the body, without the key`,
      size,
      isKeyless: true,
      compute: (_, body) => hashOf(hash, body),
    },
    {
      description: `a plain ${name} hash of the key followed by the body`,
      size,
      isHash: true,
      compute: (key, body) => hashOf(hash, key, body),
    },
    {
      description: `a plain ${name} hash of the body followed by the key`,
      size,
      isHash: true,
      compute: (key, body) => hashOf(hash, body, key),
    },
  ]),
  ...COMMON.flatMap(([hash, name, size]): Algorithm[] => [
    ...SEPARATORS.flatMap(([separator, shown]): Algorithm[] => [
      {
        description: `a plain ${name} hash of the key, ${shown} and the body`,
        size,
        isHash: true,
        compute: (key, body) => hashOf(hash, key, separator, body),
      },
      {
        description: `a plain ${name} hash of the body, ${shown} and the key`,
        size,
        isHash: true,
        compute: (key, body) => hashOf(hash, body, separator, key),
      },
    ]),
    {
      description: `a plain ${name} hash of the key, the body and the key again`,
      size,
      isHash: true,
      compute: (key, body) => hashOf(hash, key, body, key),
    },
  ]),
  ...COMMON.flatMap(([hash, name]) =>
    WRITTEN.map(([notation, write]) => ({
      description: `HMAC-SHA256 over the ${name} hash of the body ${notation} instead of the body`,
      size: 32,
      compute: (key: BytesOrText, body: BytesOrText) =>
        next(hashOf(hash, body), (digest) => hmac('sha256', key, write(digest))),
    })),
  ),
  ...WRITTEN.slice(0, 3).flatMap(([notation, write]): Algorithm[] => [
    {
      description: `a plain SHA-256 hash of the HMAC-SHA256 ${notation}`,
      size: 32,
      compute: (key, body) => next(hmac('sha256', key, body), (digest) => hashOf('sha256', write(digest))),
    },
    {
      description: `the HMAC-SHA256 of the HMAC-SHA256 ${notation}`,
      size: 32,
      compute: (key, body) => next(hmac('sha256', key, body), (digest) => hmac('sha256', key, write(digest))),
    },
  ]),
  {
    description: 'HMAC-SHA256 over the key instead of the body',
    size: 32,
    compute: (key) => hmac('sha256', key, key),
  },
  {
    description: 'HMAC-SHA256 over the key in hex instead of the body',
    size: 32,
    compute: (key) => hmac('sha256', key, utf8(toHex(toBytes(key as Body)))),
  },
]

/** Computes a second digest from the bytes of a first one. Stays synchronous where hashing is. */
function next(digest: Digest, compute: (digest: Uint8Array) => Digest): Digest {
  if (digest === undefined) return undefined
  return typeof digest === 'string'
    ? compute(fromHex(digest) as Uint8Array)
    : digest.then((hex) => (hex === undefined ? undefined : compute(fromHex(hex) as Uint8Array)))
}
