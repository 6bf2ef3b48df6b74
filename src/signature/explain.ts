import type { Body } from './bytes.ts'
import type { Cause } from './explain/causes.ts'
import type { SignatureKeys } from './keyring.ts'

/** What {@link explain} takes. */
export interface ExplainOptions {
  /** The body as the receiver has it; a string means its UTF-8 bytes. */
  body: Body
  /** The headers of the request. Upper and lower case are one. */
  headers:
    | Iterable<readonly [string, string]>
    | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The key, or several, newest first. */
  signatureKey: SignatureKeys
  /** Default `'x-service'`. */
  signatureHeader?: string
}

/** Why a signature was refused, and what to do about it. It holds no key and no signature. */
export interface Diagnosis {
  /** Whether the signature is right: then `cause` is `ok`, or `key_previous` for an older key of the ring. */
  ok: boolean
  cause: Cause
  /** What was found, in a sentence. */
  evidence: string
  /** What to do. */
  fix: string
}

/**
 * Finds out why a signature did not match: it tries, one by one, what is known to go wrong between a sender and a
 * receiver, and names a cause only if recomputing proves it. Slow (up to some hundred HMACs), so not for every request.
 *
 * @throws {WebhookError} `body_already_parsed` for a body that is not bytes or a string
 * @example
 * ```ts
 * import { explain, sign } from 'geohook'
 *
 * const signature = await sign({ body: '{"events":[]}', signatureKey: 'parcels2026' })
 * const { cause } = await explain({
 *   body: '{"events":[]}\n',
 *   headers: { 'x-service': signature },
 *   signatureKey: 'parcels2026',
 * })
 * console.log(cause) // body_trailing_newline
 * ```
 */
export async function explain(options: ExplainOptions): Promise<Diagnosis> {
  // Loaded when it is first needed: it is larger than all that verifies.
  const { diagnose } = await import('./explain/diagnose.ts')
  return diagnose(options)
}
