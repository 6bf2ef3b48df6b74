import type { Diagnosis, ExplainOptions } from './explain/diagnosis.ts'

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
  // Loaded when it is first needed: it is larger than all that verifies.
  const { diagnose } = await import('./explain/diagnose.ts')
  return diagnose(options)
}
