import type { Meter } from '@opentelemetry/api'
import type { Outcome } from '../receiver/outcome.ts'
import { guard } from './guard.ts'
import { type Attributes, type METRIC_ATTRIBUTES, METRICS, SYSTEM } from './names.ts'
import type { DeliverySummary } from './spans.ts'

type MetricAttributes = Attributes<typeof METRIC_ATTRIBUTES, string | number>

/** The instruments of one meter. */
export interface Measures {
  begin(): void
  end(outcome: Outcome, delivery: DeliverySummary | undefined, seconds: number): void
}

/** The boundaries that the semantic conventions advise for this duration. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const BYTES = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576]

/** Makes the instruments. What is verified is measured; of the rest there is a count, and no more. */
export function createMeasures(meter: Meter, destination: string): Measures {
  const where: MetricAttributes = { 'messaging.destination.name': destination }
  const operation: MetricAttributes = {
    ...where,
    'messaging.system.name': SYSTEM,
    'messaging.operation.name': 'process',
  }
  const duration = guard(() =>
    meter.createHistogram('messaging.process.duration', {
      description: 'Duration of verified deliveries, from the beginning of the request to its outcome.',
      unit: METRICS['messaging.process.duration'],
      advice: { explicitBucketBoundaries: SECONDS },
    }),
  )
  const requests = guard(() =>
    meter.createCounter('geohook.requests', {
      description: 'Requests that ended, refused ones and handshakes among them.',
      unit: METRICS['geohook.requests'],
    }),
  )
  const atWork = guard(() =>
    meter.createUpDownCounter('geohook.at_work', {
      description: 'Requests that have no outcome yet.',
      unit: METRICS['geohook.at_work'],
    }),
  )
  const size = guard(() =>
    meter.createHistogram('geohook.delivery.body.size', {
      description: 'Bodies of verified deliveries.',
      unit: METRICS['geohook.delivery.body.size'],
      advice: { explicitBucketBoundaries: BYTES },
    }),
  )
  return {
    begin: () => guard(() => atWork?.add(1, where)),
    end({ kind, status, error }, delivery, seconds) {
      guard(() => atWork?.add(-1, where))
      const result: MetricAttributes = {
        'geohook.outcome': kind,
        'http.response.status_code': status,
        ...(error && { 'error.type': error.code }),
      }
      guard(() => requests?.add(1, { ...where, ...result }))
      if (!delivery) return
      guard(() => duration?.record(seconds, { ...operation, ...result }))
      guard(() => size?.record(delivery.size, where))
    },
  }
}
