import { importKey } from '#runtime'
import type { HmacKey } from '../runtime/hmac.ts'
import { concat, toHex, utf8 } from '../shared/bytes.ts'
import type { BytesOrText } from './types.ts'

/** The part of node:crypto that is used here. It is loaded only where it exists, and so is not imported. */
interface NodeCrypto {
  createHash(hash: string): State
  createHmac(hash: string, key: BytesOrText): State
}
interface State {
  update(data: BytesOrText): State
  digest(encoding: 'hex'): string
}

type Process = { getBuiltinModule?: (name: 'node:crypto') => NodeCrypto | undefined }
const node = (globalThis as { process?: Process }).process?.getBuiltinModule?.('node:crypto')

/** The hashes of WebCrypto, by the name that node:crypto has for them. */
const WEB: Readonly<Record<string, string>> = {
  sha1: 'SHA-1',
  sha256: 'SHA-256',
  sha384: 'SHA-384',
  sha512: 'SHA-512',
}

/**
 * Replaces an empty key, which WebCrypto rejects. The result is the same, because HMAC pads short keys with zeros
 * (RFC 2104).
 */
const EMPTY = new Uint8Array(1)

/**
 * Computes an HMAC in lower-case hex.
 *
 * @param hash name of the hash in node:crypto
 * @returns undefined if the platform lacks the hash
 */
export function hmac(
  hash: string,
  key: BytesOrText,
  message: BytesOrText,
): string | undefined | Promise<string | undefined> {
  if (!node) return webHmac(hash, key, message)
  if (!hasHash(hash)) return undefined
  return node.createHmac(hash, key).update(message).digest('hex')
}

/** Computes the HMAC-SHA256 of a message in lower-case hex. */
export type Sign = (message: Uint8Array) => string | Promise<string>

/** Creates a function that signs messages as services do. The key is imported once, on first use. */
export function createSign(key: BytesOrText): Sign {
  let imported: HmacKey | undefined
  return (message) => {
    imported ??= importKey(key.length > 0 ? key : EMPTY)
    return imported.start().digest(message)
  }
}

/** Computes an HMAC-SHA256, the algorithm that services sign with, in lower-case hex. */
export const hmacSha256 = (key: BytesOrText, message: Uint8Array): string | Promise<string> =>
  createSign(key)(message)

/** Computes a plain hash, without a key, in lower-case hex. Returns undefined if the platform lacks the hash. */
export function hashOf(
  hash: string,
  ...parts: readonly BytesOrText[]
): string | undefined | Promise<string | undefined> {
  if (!node) return webHash(hash, concat(parts.map(toSource)))
  if (!hasHash(hash)) return undefined
  const state = node.createHash(hash)
  for (const part of parts) state.update(part)
  return state.digest('hex')
}

const known = new Map<string, boolean>()

/** OpenSSL can be built without some hashes, and BoringSSL (Electron, Bun) lacks others. */
function hasHash(hash: string): boolean {
  let has = known.get(hash)
  if (has === undefined) {
    try {
      node?.createHash(hash)
      has = true
    } catch {
      has = false
    }
    known.set(hash, has)
  }
  return has
}

async function webHmac(hash: string, key: BytesOrText, message: BytesOrText): Promise<string | undefined> {
  const name = WEB[hash]
  if (!name) return undefined
  const bytes = toSource(key.length > 0 ? key : EMPTY)
  const imported = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: name }, false, ['sign'])
  return toHex(await crypto.subtle.sign('HMAC', imported, toSource(message)))
}

async function webHash(hash: string, message: Uint8Array): Promise<string | undefined> {
  const name = WEB[hash]
  return name && toHex(await crypto.subtle.digest(name, toSource(message)))
}

/**
 * Narrows the type, because WebCrypto does not accept bytes in shared memory. Bodies and keys are never in shared
 * memory.
 */
const toSource = (value: BytesOrText): Uint8Array<ArrayBuffer> =>
  typeof value === 'string' ? utf8(value) : (value as Uint8Array<ArrayBuffer>)
