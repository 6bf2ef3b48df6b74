import {
  context,
  type MeterProvider,
  metrics,
  ROOT_CONTEXT,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { configInvalid } from '../errors.ts'
import type { Observer } from '../receiver/observer.ts'
import type { RequestHead } from '../receiver/request.ts'
import { forwardTo, letAround } from './forward.ts'
import { guard } from './guard.ts'
import { createMeasures, type Measures } from './metrics.ts'
import { type DeliverySummary, endSpan, startSpan, summarize } from './spans.ts'

/** What {@link createOtelObserver} takes. */
export interface OtelOptions {
  /** What the deliveries are for, in the span's name and in every metric: one of few fixed texts. Default `'webhook'`. */
  destination?: string | undefined
  /** Default: the one that is registered with the API, also when that happens later. */
  tracerProvider?: TracerProvider | undefined
  /** Default: the one that is registered with the API, also when that happens later. */
  meterProvider?: MeterProvider | undefined
  /** Another observer, which is told everything as well. What it has no function for, the receiver's log still tells. */
  observer?: Observer | undefined
}

/** The instrumentation scope of spans and metrics. */
const SCOPE = 'geohook'

/**
 * An observer that makes an OpenTelemetry span of every request and keeps metrics. Its span is active while key
 * functions, schemas, stores and handlers run, so that their spans are children of it. docs/observability.md has the names.
 *
 * Nothing of a body, a header, a URL, a key or an error's message is written, but for change types that are names.
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
  const { destination = 'webhook', observer = {} } = options
  if (typeof destination !== 'string' || destination === '') throw configInvalid('destination must be a text')
  if (typeof observer !== 'object' || observer === null) throw configInvalid('observer must be an object')
  const tracer = (options.tracerProvider ?? trace).getTracer(SCOPE)
  const measures = createLatestMeasures(destination, options.meterProvider)
  const forwarded = forwardTo(observer)
  const summaries = new WeakMap<RequestHead, DeliverySummary>()
  return {
    ...forwarded,
    accepted(seen) {
      guard(() => summaries.set(seen.request, summarize(seen.delivery)))
      return forwarded.accepted?.(seen)
    },
    around({ request, run }) {
      const started = performance.now()
      const measure = guard(measures)
      const parent = guard(() => context.active()) ?? ROOT_CONTEXT
      const span = startSpan(tracer, request, destination, parent)
      let working: Promise<void> | undefined
      const work = () => (working ??= measured())
      async function measured(): Promise<void> {
        measure?.begin()
        letAround(observer, { request, run })
        const outcome = await run()
        const summary = summaries.get(request)
        if (span) endSpan(span, outcome, summary)
        measure?.end(outcome, summary, (performance.now() - started) / 1000)
      }
      if (span) guard(() => context.with(trace.setSpan(parent, span), work))
      return work() // without a span, or where it cannot be made the active one
    },
  }
}

/**
 * The instruments of the provider that is registered now. The API hands spans on to a provider that comes later, but
 * instruments that were made before stay mute.
 */
function createLatestMeasures(destination: string, given: MeterProvider | undefined): () => Measures {
  let provider: MeterProvider | undefined
  let measures: Measures | undefined
  return () => {
    const latest = given ?? metrics.getMeterProvider()
    if (!measures || latest !== provider) {
      measures = createMeasures(latest.getMeter(SCOPE), destination)
      provider = latest
    }
    return measures
  }
}
