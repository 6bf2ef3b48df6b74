import {
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { WebhookError } from '../errors.ts'
import { causesOf } from '../receiver/log.ts'
import type { Delivery, Outcome, RequestHead } from '../receiver/types.ts'
import { errorChain } from '../shared/error-chain.ts'
import { ignoreErrors } from './forward.ts'

type SpanAttributes = Attributes<typeof SPAN_ATTRIBUTES, string | number | string[]>

/**
 * Starts a span, and runs a function while the span is active.
 *
 * @param start returns undefined if the SDK fails
 * @param run called exactly once, without an active span if the SDK fails
 */
export function inSpan(
  start: (parent: Context) => Span | undefined,
  run: (span: Span | undefined) => Promise<void>,
): Promise<void> {
  const parent = ignoreErrors(() => context.active()) ?? ROOT_CONTEXT
  const span = start(parent)
  let running: Promise<void> | undefined
  const runOnce = () => (running ??= run(span))
  if (span) ignoreErrors(() => context.with(trace.setSpan(parent, span), runOnce))
  return runOnce()
}

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

/** Maximum number of recorded change types per delivery, and of recorded errors per failure. */
const MAX_LISTED = 16

/** Matches identifiers. Sentences and JSON contain other characters, and signed tokens such as JWTs are longer. */
const NAME = /^[\w.:$-]{1,64}$/

/** Matches error codes of Node, SQL databases and libraries: `ECONNREFUSED`, `ERR_X`, `23505`. */
const CODE = /^[A-Z0-9_]{1,40}$/

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'CONNECT', 'TRACE']

/** Replaces HTTP methods that are not in the list with one placeholder, because clients can send any text. */
const sanitizeMethod = (method: string): string => (METHODS.includes(method) ? method : OTHER)

/** Replaces text from senders and services that is not an identifier. */
export const sanitizeName = (name: string): string => (NAME.test(name) ? name : OTHER)

/** Limits the number of change types, and replaces those that are not identifiers: clients can send any text. */
function sanitizeChangeTypes(changeTypes: readonly string[]): string[] {
  const names = changeTypes.slice(0, MAX_LISTED).map(sanitizeName)
  return [...new Set(names)]
}

/** Returns the first causes of a WebhookError. */
const firstCausesOf = (error: WebhookError): unknown[] =>
  causesOf(error)
    .slice(0, MAX_LISTED)
    .filter((thrown) => thrown !== undefined)

/**
 * Returns the class of a thrown value, and the first code of the value or its causes. The class is the constructor's
 * name: the message, the stack and `name` may quote a payload, so they are not read. A code is read only from errors,
 * because any other thrown object may itself be the payload.
 */
export function describeThrown(thrown: unknown): { type: string; code?: string } {
  if (typeof thrown !== 'object' || thrown === null) return { type: typeof thrown }
  try {
    const constructedBy: unknown = Object.getPrototypeOf(thrown)?.constructor
    const name: unknown = typeof constructedBy === 'function' ? constructedBy.name : undefined
    const errors = isError(thrown) ? [thrown as { code?: unknown }, ...errorChain(thrown)] : []
    const code = errors.map((error) => error.code).find((text) => typeof text === 'string' && CODE.test(text))
    const type = typeof name === 'string' && NAME.test(name) ? name : OTHER
    return typeof code === 'string' ? { type, code } : { type }
  } catch {
    return { type: OTHER } // a getter or a proxy that throws
  }
}

/** Returns true for errors, including errors from another realm, where `Error` is a different class. */
const isError = (thrown: object): boolean =>
  thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]'

/**
 * Attributes of a span. The names are from OpenTelemetry's semantic conventions, version 1.45, written out here to
 * avoid a dependency. Attributes that the conventions do not define begin with `geohook.`.
 */
export const SPAN_ATTRIBUTES = [
  'messaging.system.name',
  'messaging.operation.name',
  'messaging.operation.type',
  'messaging.destination.name',
  'messaging.message.id',
  'messaging.message.body.size',
  'http.request.method',
  'http.response.status_code',
  'error.type',
  'geohook.outcome',
  'geohook.profile',
  'geohook.key_index',
  'geohook.change_types',
  'geohook.event_count',
] as const

/** Attributes of a span's `exception` event. */
export const EXCEPTION_ATTRIBUTES = ['exception.type', 'geohook.exception.code'] as const

/** Attributes of the span of a step of `createChanges`. */
export const CHANGES_ATTRIBUTES = [
  'geohook.changes.step',
  'server.address',
  'server.port',
  'geohook.changes.requests',
  'geohook.changes.job_state',
  'geohook.changes.service_code',
  'error.type',
] as const

/**
 * Attributes of a measurement. Each attribute has only a few values, because every combination of values creates a time
 * series.
 */
export const METRIC_ATTRIBUTES = [
  'messaging.system.name',
  'messaging.operation.name',
  'messaging.destination.name',
  'http.response.status_code',
  'error.type',
  'geohook.outcome',
  'geohook.inbox.state',
] as const

/** Metrics and their units. */
export const METRICS = {
  'messaging.process.duration': 's',
  'geohook.requests': '{request}',
  'geohook.in_flight': '{request}',
  'geohook.delivery.body.size': 'By',
  'geohook.inbox.attempt.duration': 's',
  'geohook.inbox.put.duration': 's',
  'geohook.inbox.deliveries': '{delivery}',
  'geohook.inbox.oldest.age': 's',
} as const

/** Attributes whose names must be in the list `Names`. */
export type Attributes<Names extends readonly string[], Value> = { [Name in Names[number]]?: Value }

/** The placeholder for values that must not be recorded, as defined by the semantic conventions. */
const OTHER = '_OTHER'

/** The instrumentation scope of spans and metrics. */
export const SCOPE = 'geohook'

/** The name of the messaging system. */
export const SYSTEM = 'webhook'
