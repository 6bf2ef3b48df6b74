import type { WebhookError } from '../errors.ts'
import { checkOptions, isFunction, type OptionNames, requireKnownOptions, requireValue } from '../options.ts'
import { OPTION_NAMES } from '../receiver/options.ts'
import type { Observer, ReceiverOptions, RequestHead } from '../receiver/types.ts'
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
  requireKnownOptions(request, REQUEST_NAMES, 'request member')
  requireKnownOptions(options, { thorough: true })
  return explainAny(request, receiverOptions, options.thorough)
}

/** Explains a request that may have further members. */
async function explainAny(
  request: GivenRequest,
  receiverOptions: Partial<ReceiverOptions>,
  thorough = false,
): Promise<Diagnosis> {
  checkOptions(receiverOptions, OPTION_NAMES)
  const { body, code } = request
  const bytes = body === undefined && code ? undefined : toBytes(body as Body)
  // Loaded on demand, because it is larger than the code that verifies requests.
  const { diagnose } = await import('./diagnose.ts')
  return diagnose({ ...request, body: bytes }, receiverOptions, thorough)
}

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

/** Explains a request that a receiver has refused at this time. It may have further members. */
export const explainSeen = (
  { body, ...request }: GivenRequest & { body?: Uint8Array | undefined },
  options: Partial<ReceiverOptions>,
  time: number,
): Promise<Diagnosis> =>
  explainAny(body && body.length <= MAX_BODY ? { ...request, body } : request, {
    ...options,
    clock: () => time,
  })

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
  checkOptions(options, OPTION_NAMES)
  requireValue('report', report, isFunction)
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
