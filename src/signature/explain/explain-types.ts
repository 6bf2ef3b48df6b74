import type { Body } from '../bytes.ts'
import type { SignatureKeys } from '../keyring.ts'
import type { Cause } from './causes.ts'

/** Options of `explain`. */
export interface ExplainOptions {
  /** The body as received; a string means its UTF-8 bytes. */
  body: Body
  /** The headers of the request. Names are case-insensitive. */
  headers:
    | Headers
    | Iterable<readonly [string, string]>
    | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The key, or several, newest first. An empty or missing key is reported as a cause, not thrown as an error. */
  signatureKey: SignatureKeys | undefined
  /** The header or form field with the signature. Default `'x-service'`. */
  signatureHeader?: string | undefined
}

/**
 * The reason why a signature was rejected, and how to fix it. It contains no key and no signature. For the cause
 * `unexplained`, the evidence contains the SHA-256 of the body, and the first 4 hex digits of each key's SHA-256.
 */
export interface Diagnosis {
  /** True if the signature is valid: `cause` is `ok`, or `key_previous` for an older key. */
  ok: boolean
  cause: Cause
  /** Facts that prove the cause, in plain sentences. */
  evidence: string
  /** How to fix the cause. */
  fix: string
}

/** A proved cause with its evidence. */
export type Finding = Pick<Diagnosis, 'cause' | 'evidence'>

/** Bytes that the sender may have used in place of the body or the key, with a description for the evidence. */
export type Variant = readonly [bytes: Uint8Array, description: string]
