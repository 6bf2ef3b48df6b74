import type { Cause } from './causes.ts'

/**
 * The reason why a request was rejected, and how to fix it. It contains no key and no signature. For the cause
 * `unexplained`, the evidence contains the SHA-256 of the body, and the first 4 hex digits of each key's SHA-256. If
 * the body is little more than a key, it contains only the first 4 hex digits of the body's SHA-256 too.
 */
export interface Diagnosis {
  /** True if the receiver accepts the request: `cause` is `ok`, or `key_previous` for an older key. */
  ok: boolean
  cause: Cause
  /** Further causes, if several mistakes were made at once. `evidence` and `fix` then describe all of them. */
  also?: readonly Cause[]
  /** Facts that prove the cause, in plain sentences. */
  evidence: string
  /** How to fix the cause. */
  fix: string
}

/** A proved cause with its evidence: a complete sentence. */
export type Finding = Pick<Diagnosis, 'cause' | 'evidence'>

/** Bytes, or text that means its UTF-8 bytes. */
export type BytesOrText = Uint8Array | string

/**
 * What the sender may have used in place of the key or the body. The description completes the sentence "The signature
 * was computed with …" (a key) or "… over …" (a body).
 */
export type Hypothesis = readonly [cause: Cause, value: BytesOrText, description: string]

/** A hypothesis without its cause, for lists whose rows all have the same cause. */
export type Variant = readonly [value: BytesOrText, description: string]
