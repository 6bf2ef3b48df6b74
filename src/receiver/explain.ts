import type { ErrorCode } from '../errors.ts'
import { configInvalid, WebhookError } from '../errors.ts'
import type { GivenRequest } from '../explain/request.ts'
import type { Diagnosis } from '../explain/types.ts'
import { type OptionNames, requireKnownOptions } from '../options.ts'
import { type Body, toBytes } from '../shared/bytes.ts'
import type { SignatureKeys } from '../signature/keyring.ts'
import { OPTION_NAMES } from './options.ts'
import { createQuietReceiver } from './receiver.ts'
import type { CommonReceiverOptions, KeyFunction } from './types.ts'

/**
 * Options of `explain`: a request, and the options of the receiver that refused it. Options of the receiver that do not
 * decide about a single request, such as `inbox`, are ignored.
 */
export interface ExplainOptions extends GivenRequest, CommonReceiverOptions {
  /** The body as received; a string means its UTF-8 bytes. May be missing if `code` is given. */
  body?: Body | undefined
  /**
   * The key, or several, newest first, or the receiver's key function. An empty or missing key is reported as a cause,
   * not thrown as an error.
   */
  signatureKey?: SignatureKeys | KeyFunction | null | undefined
  /** As in the options of the receiver. Default `'reject'`. */
  unsigned?: 'reject' | 'accept' | undefined
  /** The code of the receiver's error. Needed for causes that the request does not show, such as `body_timeout`. */
  code?: ErrorCode | undefined
  /**
   * Does 64 times as much work, and tests the expensive hypotheses for bodies of up to 1 MiB, which can take ten seconds
   * and 0.5 GB of memory. Default `false`.
   */
  thorough?: boolean | undefined
}

const OWN_NAMES: OptionNames<Omit<ExplainOptions, keyof CommonReceiverOptions>> = {
  body: true,
  headers: true,
  method: true,
  url: true,
  params: true,
  remoteAddress: true,
  signatureKey: true,
  unsigned: true,
  code: true,
  thorough: true,
}

/**
 * Explains why a receiver refuses a request. If the signature is wrong, it tests the known mistakes of senders,
 * receivers and proxies one by one, and reports a cause only if recomputing the signature proves that cause. If the
 * signature is right, it passes the request to a receiver with the same options and reports what that receiver refuses.
 *
 * It computes up to several thousand HMACs, which takes about 50 ms and at most 16 MB for a body of up to 64 KiB: do not
 * call it for every request, but use {@link explained} in an observer. For larger bodies it tests only the cheap
 * hypotheses, unless `thorough` is set.
 *
 * @throws {WebhookError} `body_already_parsed` for a body that is neither bytes nor a string; `config_invalid` for an
 *   unknown or invalid option, or a key that is neither bytes nor a string
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
  requireKnownOptions(options, { ...OPTION_NAMES, ...OWN_NAMES })
  const { body, code } = options
  const bytes = body === undefined && code ? undefined : toBytes(body as Body)
  // `#diagnose` is loaded on demand, because it is larger than the verification code. Its bundle has its own copy of
  // the WebhookError class, and errors of that copy would not be instances of the class that users import.
  const { diagnose } = await import('#diagnose')
  return diagnose({ ...options, body: bytes }, createQuietReceiver).catch((error: Error) => {
    const isCopy = !(error instanceof WebhookError) && (error as { code?: unknown }).code === 'config_invalid'
    throw isCopy ? configInvalid(error.message) : error
  })
}
