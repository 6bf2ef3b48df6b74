import { type Context, type MeterProvider, type TracerProvider, trace } from '@opentelemetry/api'
import { checkOptions, isFilledText, type OptionNames, requireObserver } from '../options.ts'
import { OBSERVER_NAMES } from '../receiver/observer.ts'
import type { Observer, RequestHead } from '../receiver/types.ts'
import { forwardAround, forwardTo, ignoreErrors } from './forward.ts'
import { createInstruments, latestOf } from './metrics.ts'
import { type DeliverySummary, endSpan, inSpan, SCOPE, startSpan, summarize } from './spans.ts'

export { createOtelChangesObserver, type OtelChangesOptions } from './changes.ts'
export { createOtelInboxObserver, type OtelInboxOptions } from './inbox.ts'

/** Options of {@link createOtelObserver}. */
export interface OtelOptions {
  /**
   * Purpose of the deliveries. It is part of the span name and an attribute of every metric, so use only a few constant
   * values. Default `'webhook'`.
   */
  destination?: string | undefined
  /** Default: the provider registered with the OpenTelemetry API, even if it is registered later. */
  tracerProvider?: TracerProvider | undefined
  /** Default: the provider registered with the OpenTelemetry API, even if it is registered later. */
  meterProvider?: MeterProvider | undefined
  /** Another observer to call as well. Refusals and failures for which it has no function still go to the log. */
  observer?: Observer | undefined
}

const NAMES: OptionNames<OtelOptions> = {
  destination: isFilledText,
  tracerProvider: true,
  meterProvider: true,
  observer: true,
}

/**
 * Creates an observer that records OpenTelemetry metrics, and a span for every request. The span is active while key
 * functions, schemas, stores and handlers run, so that their spans become its children. The names are listed in
 * docs/observability.md.
 *
 * Spans and metrics contain no headers, URLs, keys or error messages. The only body content in them is change types
 * that are identifiers.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createOtelObserver } from 'geohook/otel'
 *
 * const observer = createOtelObserver({ destination: 'parcels' })
 * const receiver = createReceiver({ signatureKey: 'parcels2026', observer })
 * ```
 */
export function createOtelObserver(options: OtelOptions = {}): Observer {
  const { destination = 'webhook', observer = {} } = checkOptions(options, NAMES)
  requireObserver(observer, OBSERVER_NAMES)
  const tracer = (options.tracerProvider ?? trace).getTracer(SCOPE)
  const latestInstruments = latestOf((meter) => createInstruments(meter, destination), options.meterProvider)
  const forwarded = forwardTo(observer)
  const summaries = new WeakMap<RequestHead, DeliverySummary>()
  return {
    ...forwarded,
    accepted(seen) {
      ignoreErrors(() => summaries.set(seen.request, summarize(seen.delivery)))
      return forwarded.accepted?.(seen)
    },
    around({ request, run }) {
      const started = performance.now()
      const recorder = ignoreErrors(latestInstruments)
      const start = (parent: Context) => startSpan(tracer, request, destination, parent)
      return inSpan(start, async (span) => {
        recorder?.begin()
        forwardAround(observer, { request, run })
        const outcome = await run()
        const summary = summaries.get(request)
        if (span) endSpan(span, outcome, summary)
        recorder?.end(outcome, summary, (performance.now() - started) / 1000)
      })
    },
  }
}
