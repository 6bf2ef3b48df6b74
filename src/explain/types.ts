import type { ErrorCode } from '../errors.ts'
import type { HeaderBag, RequestHead } from '../receiver/types.ts'
import type { Body } from '../shared/bytes.ts'
import type { Cause } from './causes.ts'

/** The request to explain, as the caller of `explain` gives it: for example, the members that an observer gets. */
export interface GivenRequest {
  /** The body as received; a string means its UTF-8 bytes. May be missing if `code` is given. */
  body?: Body | undefined
  /**
   * The headers of the request. Names are case-insensitive. Without any of the headers
   * that every request has, such as host, the content type and the payload are not checked.
   * Default: none, to explain a code alone.
   */
  headers?: Headers | Iterable<readonly [string, string]> | HeaderBag | undefined
  /** The method of the request. Default `'POST'`. */
  method?: string | undefined
  /** Path and query, or the whole URL. */
  url?: string | undefined
  /** Route parameters, for a key function. */
  params?: RequestHead['params']
  /** The IP address of the peer, for a key function. */
  remoteAddress?: string | undefined
  /** The code of the receiver's error. Needed for causes that the request does not show, such as `body_timeout`. */
  code?: ErrorCode | undefined
}

/** Options of `explain` itself. */
export interface ExplainOptions {
  /**
   * Does 64 times as much work, and tests the expensive hypotheses for bodies of up to 1 MiB, which can take ten seconds
   * and 0.5 GB of memory. Default `false`.
   */
  thorough?: boolean | undefined
}

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

export const found = (cause: Cause, evidence: string): Finding => ({ cause, evidence })

/** Bytes, or text that means its UTF-8 bytes. */
export type BytesOrText = Uint8Array | string

/**
 * What the sender may have used in place of the key or the body. The description completes the sentence "The signature
 * was computed with …" (a key) or "… over …" (a body).
 */
export type Hypothesis = readonly [cause: Cause, value: BytesOrText, description: string]
