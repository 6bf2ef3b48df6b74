import { configInvalid } from '../errors.ts'
import { toBytes } from './bytes.ts'
import type { Diagnosis, ExplainOptions } from './explain/types.ts'

/**
 * Finds out why a signature did not match: it tries, one by one, what is known to go wrong between a sender and a
 * receiver, and names a cause only if recomputing proves it. Slow (up to some hundred HMACs), so not for every request.
 *
 * @throws {WebhookError} `body_already_parsed` for a body that is not bytes or a string, `config_invalid` for a key
 *   that is neither
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
  const body = toBytes(options.body)
  // Loaded when it is first needed: it is larger than all that verifies. It shares no code with the rest, or every bundle
  // would pay for the parts that are shared; so its errors become ours here.
  const { diagnose } = await import('#diagnose')
  return diagnose({ ...options, body }).catch((error: Error) => {
    throw configInvalid(error.message)
  })
}
