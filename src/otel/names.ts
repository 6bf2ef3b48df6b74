/**
 * What a span can bear. The names are those of OpenTelemetry's semantic conventions, version 1.45, written out here
 * because the package that has them is no dependency; what they have no name for begins with `geohook.`.
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

/** What an `exception` event of a span can bear. */
export const EXCEPTION_ATTRIBUTES = ['exception.type', 'geohook.exception.code'] as const

/** What a measurement can bear: few values each, because every combination is a time series of its own. */
export const METRIC_ATTRIBUTES = [
  'messaging.system.name',
  'messaging.operation.name',
  'messaging.destination.name',
  'http.response.status_code',
  'error.type',
  'geohook.outcome',
] as const

/** The metrics, with their units. */
export const METRICS = {
  'messaging.process.duration': 's',
  'geohook.requests': '{request}',
  'geohook.at_work': '{request}',
  'geohook.delivery.body.size': 'By',
} as const

/** Attributes of which only those in a list can be written. */
export type Attributes<Names extends readonly string[], Value> = { [Name in Names[number]]?: Value }

/** Stands for every value that is not written as it is, as in the semantic conventions. */
export const OTHER = '_OTHER'

/** The messaging system, in the words of the conventions. */
export const SYSTEM = 'webhook'
