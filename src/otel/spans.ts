import { type Context, type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import type { Delivery, Outcome, RequestHead } from '../receiver/types.ts'
import { ignoreErrors } from './ignore-errors.ts'
import { type Attributes, type EXCEPTION_ATTRIBUTES, type SPAN_ATTRIBUTES, SYSTEM } from './names.ts'
import { describeThrown, firstCausesOf, sanitizeChangeTypes, sanitizeMethod } from './sanitize.ts'

type SpanAttributes = Attributes<typeof SPAN_ATTRIBUTES, string | number | string[]>

/**
 * Starts the span of a request. Its parent is the active span of this process, never a span named in the request: no
 * signature covers the `traceparent` header. Returns `undefined` if the SDK fails.
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
    'http.request.method': sanitizeMethod(method),
  }
  return ignoreErrors(() =>
    tracer.startSpan(`process ${destination}`, { kind: SpanKind.CONSUMER, attributes }, parent),
  )
}

/**
 * The span attributes of a delivery. They are copied, because a reference to the delivery would keep its body in
 * memory.
 */
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
  changeTypes: sanitizeChangeTypes(changeTypes),
  eventCount: events.length,
  keyIndex,
})

/**
 * Ends the span with the outcome. Only failures of the receiver mark the span as an error, because anyone can cause
 * rejections.
 */
export function endSpan(span: Span, outcome: Outcome, delivery: DeliverySummary | undefined): void {
  if (ignoreErrors(() => span.isRecording())) {
    ignoreErrors(() => span.setAttributes(attributesOf(outcome, delivery)))
    if (outcome.status >= 500) {
      ignoreErrors(() => span.setStatus({ code: SpanStatusCode.ERROR }))
      ignoreErrors(() => recordThrown(span, outcome))
    }
  }
  ignoreErrors(() => span.end())
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

/** Records the causes of the error. Does not call `recordException`, because that would record messages and stacks. */
function recordThrown(span: Span, { error }: Outcome): void {
  for (const thrown of error ? firstCausesOf(error) : []) {
    const { type, code } = describeThrown(thrown)
    const attributes: Attributes<typeof EXCEPTION_ATTRIBUTES, string> = {
      'exception.type': type,
      ...(code !== undefined && { 'geohook.exception.code': code }),
    }
    span.addEvent('exception', attributes)
  }
}
