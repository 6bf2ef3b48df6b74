import type { Body } from '../bytes.ts'
import type { SignatureKeys } from '../keyring.ts'
import type { Cause } from './causes.ts'

/** What `explain` takes. */
export interface ExplainOptions {
  /** The body as the receiver has it; a string means its UTF-8 bytes. */
  body: Body
  /** The headers of the request. Upper and lower case are one. */
  headers:
    | Headers
    | Iterable<readonly [string, string]>
    | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The key, or several, newest first. One that is empty or not set is a cause to be named, not an error. */
  signatureKey: SignatureKeys | undefined
  /** Default `'x-service'`. */
  signatureHeader?: string | undefined
}

/**
 * Why a signature was refused, and what to do about it. It holds no key and no signature. If the cause is `unexplained`,
 * the evidence has the SHA-256 of the body, and the first 4 of 64 hex digits of each key's SHA-256.
 */
export interface Diagnosis {
  /** Whether the signature is right: then `cause` is `ok`, or `key_previous` for an older key of the ring. */
  ok: boolean
  cause: Cause
  /** What was found, in a sentence. */
  evidence: string
  /** What to do. */
  fix: string
}
