import { importKey } from '#hmac'
import { toBase64, toHex } from '../bytes.ts'
import type { Cause } from './causes.ts'

/** What there is to explain: the request as it arrived, and the keys as bytes, newest first. */
export interface Case {
  body: Uint8Array
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>
  headerName: string
  /** The value of the signature header, empty where there is none. */
  value: string
  keys: readonly Uint8Array[]
}

/** A cause that recomputing has proved, and a sentence that says how. */
export interface Finding {
  cause: Cause
  evidence: string
}

/** What may have been signed, or signed with, in place of what is here: the bytes, and what they are. */
export type Variant = readonly [bytes: Uint8Array, what: string]

/** HMAC-SHA256. An empty key is the same as a zero byte, because short keys are filled up with zeros (RFC 2104). */
export async function mac(key: Uint8Array, body: Uint8Array): Promise<Uint8Array> {
  const hmac = importKey(key.length > 0 ? key : new Uint8Array(1)).start()
  hmac.update(body)
  return hmac.digest()
}

/** Whether a text is this digest in hex or base64, as a receiver would take it. */
export function isWriting(text: string, digest: Uint8Array): boolean {
  const bare = text.replace(/^sha256=/, '')
  const base64 = toBase64(digest)
  return bare.toLowerCase() === toHex(digest) || bare === base64 || bare === base64.replace(/=+$/, '')
}
