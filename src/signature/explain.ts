import { configInvalid } from '../errors.ts'
import { type OptionNames, requireKnownOptions } from '../known-options.ts'
import { toBytes } from './bytes.ts'
import type { Diagnosis, ExplainOptions } from './explain/explain-types.ts'

const NAMES: OptionNames<ExplainOptions> = {
  body: true,
  headers: true,
  signatureKey: true,
  signatureHeader: true,
}

/**
 * Explains why a signature does not match. It tests the known mistakes of senders, receivers and proxies one by one,
 * and reports a cause only if recomputing the signature proves that cause. Do not call it for every request: it can
 * compute several hundred HMACs.
 *
 * @throws {WebhookError} `body_already_parsed` for a body that is neither bytes nor a string; `config_invalid` for an
 *   unknown option, or a key that is neither bytes nor a string
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
  requireKnownOptions(options, NAMES)
  const body = toBytes(options.body)
  // `#diagnose` is loaded on demand, because it is larger than the verification code. Its bundle has its own copy of
  // the WebhookError class, and errors of that copy would not be instances of the class that users import. `diagnose`
  // therefore throws a TypeError, which is converted here.
  const { diagnose } = await import('#diagnose')
  return diagnose({ ...options, body }).catch((error: Error) => {
    throw configInvalid(error.message)
  })
}
