import type { Diagnosis } from '../../explain/types.ts'
import { explain } from '../../receiver/explain.ts'
import type { ExplainedOptions } from '../../receiver/explained.ts'
import type { HeaderBag } from '../../receiver/types.ts'
import type { Recorded } from './recorded.ts'

/** For a larger body, in bytes, only the code and the head of the request are explained. */
const MAX_BODY = 1024 * 1024

/**
 * Returns a function that explains a request: only when a page asks, once for each request, and one at a time, because
 * an explanation can take 50 ms. Resolves with undefined if the options of the receiver are invalid.
 */
export function createExplainer(
  options: ExplainedOptions,
): (recorded: Recorded) => Promise<Diagnosis | undefined> {
  let last: Promise<unknown> = Promise.resolve()

  async function run({ request, body, code, decidedAt }: Recorded): Promise<Diagnosis | undefined> {
    if (code === undefined) return undefined
    const { method, url, headers, params, remoteAddress } = request
    return explain({
      ...options,
      method,
      url,
      headers: headers as HeaderBag, // or pairs, which `explain` takes too
      params,
      remoteAddress,
      body: body && body.length <= MAX_BODY ? body : undefined,
      code,
      clock: () => decidedAt,
    })
  }

  return (recorded) => {
    if (!recorded.diagnosis) {
      recorded.diagnosis = last.then(() => run(recorded)).catch(() => undefined)
      last = recorded.diagnosis
    }
    return recorded.diagnosis
  }
}
