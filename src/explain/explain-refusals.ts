import { configInvalid, type WebhookError } from '../errors.ts'
import { requireKnownOptions } from '../options.ts'
import { OPTION_NAMES } from '../receiver/options.ts'
import type { Observer, ReceiverOptions, RequestHead } from '../receiver/types.ts'
import { explain } from './explain.ts'
import type { Diagnosis, GivenRequest } from './types.ts'

/** A refused request with the cause of its refusal. */
export interface ExplainedRefusal {
  request: RequestHead
  error: WebhookError
  diagnosis: Diagnosis
  /** Number of refusals since the last diagnosis that were not explained. */
  skipped: number
}

type Refused = NonNullable<Observer['refused']>

/** Minimum milliseconds between two diagnoses. One can take 50 ms, and anyone can send requests that are refused. */
const MIN_INTERVAL = 1000

/** Maximum milliseconds to wait for a key function and a report. One that hangs must not end all explanations. */
const MAX_WAIT = 30_000

/** For a larger body, in bytes, only the code and the head of the request are explained. */
const MAX_BODY = 1024 * 1024

/** Explains a request that a receiver has refused at this time. */
export const explainSeen = (
  { body, ...request }: GivenRequest & { body?: Uint8Array | undefined },
  options: Partial<ReceiverOptions>,
  time: number,
): Promise<Diagnosis> =>
  explain(body && body.length <= MAX_BODY ? { ...request, body } : request, { ...options, clock: () => time })

/**
 * Returns a function `refused` for the observer, which explains refusals: at most one at a time and one a second, after
 * the response, so that forged requests cannot keep the process busy. The others are counted.
 *
 * @param options the options that the receiver has
 * @param report called with each diagnosis. What it throws or rejects with is ignored
 * @throws {WebhookError} `config_invalid` for an unknown option, or if `report` is not a function
 * @example
 * ```ts
 * import { createReceiver, explainRefusals } from 'geohook'
 *
 * const options = { signatureKey: 'parcels2026' }
 * const refused = explainRefusals(options, ({ request, diagnosis }) => {
 *   console.warn(request.url, diagnosis.cause, diagnosis.evidence, diagnosis.fix)
 * })
 * const receiver = createReceiver({ ...options, observer: { refused } }).on('FeaturesCreated', () => {})
 * ```
 */
export function explainRefusals(
  options: Partial<ReceiverOptions>,
  report: (refusal: ExplainedRefusal) => unknown,
): Refused {
  requireKnownOptions(options, OPTION_NAMES)
  if (typeof report !== 'function')
    throw configInvalid('explainRefusals(options, report): report must be a function')
  let skipped = 0
  let next = Number.NEGATIVE_INFINITY
  const explainRefusal: Refused = async ({ request, error, body }) => {
    const now = (options.clock ?? Date.now)()
    await new Promise((resolve) => setTimeout(resolve)) // lets the receiver respond first
    const diagnosis = await explainSeen({ ...request, body, code: error.code }, options, now)
    const count = skipped
    skipped = 0
    await report({ request, error, diagnosis, skipped: count })
  }
  return async (refusal) => {
    if (performance.now() < next) {
      skipped++
      return
    }
    next = Number.POSITIVE_INFINITY // until this diagnosis is complete
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, MAX_WAIT)
    })
    try {
      await Promise.race([explainRefusal(refusal), late])
    } finally {
      clearTimeout(timer)
      next = performance.now() + MIN_INTERVAL
    }
  }
}
