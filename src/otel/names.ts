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
] as const

/** Metrics and their units. */
export const METRICS = {
  'messaging.process.duration': 's',
  'geohook.requests': '{request}',
  'geohook.in_flight': '{request}',
  'geohook.delivery.body.size': 'By',
} as const

/** Attributes whose names must be in the list `Names`. */
export type Attributes<Names extends readonly string[], Value> = { [Name in Names[number]]?: Value }

/** The placeholder for values that must not be recorded, as defined by the semantic conventions. */
export const OTHER = '_OTHER'

/** The instrumentation scope of spans and metrics. */
export const SCOPE = 'geohook'

/** The name of the messaging system. */
export const SYSTEM = 'webhook'
