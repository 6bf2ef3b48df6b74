import { type Meter, type MeterProvider, metrics } from '@opentelemetry/api'
import type { Outcome } from '../receiver/types.ts'
import { ignoreErrors } from './forward.ts'
import type { DeliverySummary } from './spans.ts'
import { type Attributes, type METRIC_ATTRIBUTES, METRICS, SCOPE, SYSTEM } from './spans.ts'

export type MetricAttributes = Attributes<typeof METRIC_ATTRIBUTES, string | number>

/** The instruments of one meter. */
export interface Instruments {
  begin(): void
  end(outcome: Outcome, delivery: DeliverySummary | undefined, seconds: number): void
}

/** Bucket boundaries that the semantic conventions recommend for `messaging.process.duration`, in seconds. */
export const SECONDS: number[] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const BYTES = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576]

/**
 * Returns a function that creates instruments with the currently registered provider, and creates them again after
 * another provider is registered. Instruments created before that would record nothing.
 *
 * @param create called with the instruments that the new ones replace
 */
export function latestOf<Created>(
  create: (meter: Meter, previous: Created | undefined) => Created,
  given: MeterProvider | undefined,
): () => Created {
  let provider: MeterProvider | undefined
  let instruments: Created | undefined
  return () => {
    const latest = given ?? metrics.getMeterProvider()
    if (!instruments || latest !== provider) {
      instruments = create(latest.getMeter(SCOPE), instruments)
      provider = latest
    }
    return instruments
  }
}

/**
 * Creates the instruments. Durations and sizes are measured for verified deliveries; other requests are only
 * counted.
 */
export function createInstruments(meter: Meter, destination: string): Instruments {
  const where: MetricAttributes = { 'messaging.destination.name': destination }
  const operation: MetricAttributes = {
    ...where,
    'messaging.system.name': SYSTEM,
    'messaging.operation.name': 'process',
  }
  const duration = ignoreErrors(() =>
    meter.createHistogram('messaging.process.duration', {
      description: 'Duration of verified deliveries, from the start of the request to its outcome.',
      unit: METRICS['messaging.process.duration'],
      advice: { explicitBucketBoundaries: SECONDS },
    }),
  )
  const requests = ignoreErrors(() =>
    meter.createCounter('geohook.requests', {
      description: 'Requests that ended, including rejected ones and handshakes.',
      unit: METRICS['geohook.requests'],
    }),
  )
  const inFlight = ignoreErrors(() =>
    meter.createUpDownCounter('geohook.in_flight', {
      description: 'Requests in flight.',
      unit: METRICS['geohook.in_flight'],
    }),
  )
  const size = ignoreErrors(() =>
    meter.createHistogram('geohook.delivery.body.size', {
      description: 'Body size of verified deliveries.',
      unit: METRICS['geohook.delivery.body.size'],
      advice: { explicitBucketBoundaries: BYTES },
    }),
  )
  return {
    begin: () => ignoreErrors(() => inFlight?.add(1, where)),
    end({ kind, status, error }, delivery, seconds) {
      ignoreErrors(() => inFlight?.add(-1, where))
      const result: MetricAttributes = {
        'geohook.outcome': kind,
        'http.response.status_code': status,
        ...(error && { 'error.type': error.code }),
      }
      ignoreErrors(() => requests?.add(1, { ...where, ...result }))
      if (!delivery) return
      ignoreErrors(() => duration?.record(seconds, { ...operation, ...result }))
      ignoreErrors(() => size?.record(delivery.size, where))
    },
  }
}
