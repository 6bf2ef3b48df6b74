import { type Context, type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import type { Delivery } from '../receiver/delivery.ts'
import type { Outcome } from '../receiver/outcome.ts'
import type { RequestHead } from '../receiver/request.ts'
import { boundedChangeTypes, boundedMethod, describeThrown, thrownBehind } from './bounded.ts'
import { guard } from './guard.ts'
import { type Attributes, type EXCEPTION_ATTRIBUTES, type SPAN_ATTRIBUTES, SYSTEM } from './names.ts'

type SpanAttributes = Attributes<typeof SPAN_ATTRIBUTES, string | number | string[]>

/**
 * Begins the span of a request. Its parent is the active span of this process, and never one that the request names:
 * no signature covers a `traceparent` header. There is none where the SDK fails.
 */
export function startSpan(
  tracer: Tracer,
  { method }: RequestHead,
  destination: string,
  parent: Context,
): Span | undefined {
  const attributes: SpanAttributes = {
    'messaging.system.name': SYSTEM,
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': destination,
    'http.request.method': boundedMethod(method),
  }
  return guard(() =>
    tracer.startSpan(`process ${destination}`, { kind: SpanKind.CONSUMER, attributes }, parent),
  )
}

/** What is told of a delivery; not the delivery itself, which may be large. */
export interface DeliverySummary {
  id: string
  size: number
  profile: string
  changeTypes: string[]
  eventCount: number
  keyIndex: number | undefined
}

export const summarize = ({
  id,
  rawBody,
  profile,
  changeTypes,
  events,
  keyIndex,
}: Delivery): DeliverySummary => ({
  id,
  size: rawBody.length,
  profile,
  changeTypes: boundedChangeTypes(changeTypes),
  eventCount: events.length,
  keyIndex,
})

/** Ends it with what became of the request. Only failures on this side are errors: anyone can be refused at any rate. */
export function endSpan(span: Span, outcome: Outcome, delivery: DeliverySummary | undefined): void {
  if (guard(() => span.isRecording())) {
    guard(() => span.setAttributes(attributesOf(outcome, delivery)))
    if (outcome.status >= 500) {
      guard(() => span.setStatus({ code: SpanStatusCode.ERROR }))
      guard(() => recordThrown(span, outcome))
    }
  }
  guard(() => span.end())
}

function attributesOf(
  { kind, status, error }: Outcome,
  delivery: DeliverySummary | undefined,
): SpanAttributes {
  return {
    'http.response.status_code': status,
    'geohook.outcome': kind,
    ...(error && { 'error.type': error.code }),
    ...(delivery && {
      'messaging.message.id': delivery.id,
      'messaging.message.body.size': delivery.size,
      'geohook.profile': delivery.profile,
      'geohook.change_types': delivery.changeTypes,
      'geohook.event_count': delivery.eventCount,
      ...(delivery.keyIndex !== undefined && { 'geohook.key_index': delivery.keyIndex }),
    }),
  }
}

/** Not by `recordException`, which writes the message and the stack. */
function recordThrown(span: Span, { error }: Outcome): void {
  for (const thrown of error ? thrownBehind(error) : []) {
    const { type, code } = describeThrown(thrown)
    const attributes: Attributes<typeof EXCEPTION_ATTRIBUTES, string> = {
      'exception.type': type,
      ...(code !== undefined && { 'geohook.exception.code': code }),
    }
    span.addEvent('exception', attributes)
  }
}
