import { type OptionNames, requireKnownOptions } from '../options.ts'
import { OPTION_NAMES } from '../receiver/options.ts'
import type { ReceiverOptions } from '../receiver/types.ts'
import { type Body, toBytes } from '../shared/bytes.ts'
import type { Diagnosis, ExplainOptions, GivenRequest } from './types.ts'

const REQUEST_NAMES: OptionNames<GivenRequest> = {
  body: true,
  headers: true,
  method: true,
  url: true,
  params: true,
  remoteAddress: true,
  code: true,
}

/**
 * Explains why a receiver refuses a request. If the signature is wrong, it tests the known mistakes of senders,
 * receivers and proxies one by one, and reports a cause only if recomputing the signature proves that cause. If the
 * signature is right, it passes the request to a receiver with the same options and reports what that receiver refuses.
 *
 * It computes up to several thousand HMACs, which takes about 50 ms and at most 16 MB for a body of up to 64 KiB: do not
 * call it for every request, but use {@link explainRefusals} in an observer. For larger bodies it tests only the cheap
 * hypotheses, unless `thorough` is set.
 *
 * @param request the request that was refused, with the code of the receiver's error
 * @param receiverOptions the options of the receiver that refused it. An empty or missing `signatureKey` is reported as
 *   a cause, not thrown as an error. Options that do not decide about a single request, such as `inbox`, are ignored
 * @throws {WebhookError} `body_already_parsed` for a body that is neither bytes nor a string; `config_invalid` for an
 *   unknown or invalid option, or a key that is neither bytes nor a string
 * @example
 * ```ts
 * import { explain, sign } from 'geohook'
 *
 * const options = { signatureKey: 'parcels2026' }
 * const signature = await sign({ body: '{"events":[]}', ...options })
 * const { cause } = await explain({ body: '{"events":[]}\n', headers: { 'x-service': signature } }, options)
 * console.log(cause) // body_trailing_newline
 * ```
 */
export async function explain(
  request: GivenRequest,
  receiverOptions: Partial<ReceiverOptions> = {},
  options: ExplainOptions = {},
): Promise<Diagnosis> {
  requireKnownOptions(request, REQUEST_NAMES, 'member of the request')
  requireKnownOptions(receiverOptions, OPTION_NAMES)
  requireKnownOptions(options, { thorough: true })
  const { body, code } = request
  const bytes = body === undefined && code ? undefined : toBytes(body as Body)
  // Loaded on demand, because it is larger than the code that verifies requests.
  const { diagnose } = await import('./diagnose.ts')
  return diagnose({ ...request, body: bytes }, receiverOptions, options.thorough ?? false)
}
