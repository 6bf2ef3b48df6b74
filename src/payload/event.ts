import type { JobChangeType } from './change-types.ts'

/** The service that sent an event. Names missing from the payload are empty strings. */
export interface ServiceName {
  folderName: string
  serviceName: string
  serviceType: 'FeatureServer' | 'GPServer' | (string & {})
}

/**
 * One event of a payload, in the same shape for all dialects. Optional members are absent if the payload lacks them.
 */
export interface WebhookEvent<T extends string = string> {
  /** The name of the trigger, as spelled by the sender. Empty if the payload does not name a trigger. */
  changeType: T
  /**
   * `'caught_up'` if no delivery announced the changes: `catchUp` of `geohook/changes` found them. Absent for events of
   * a service.
   */
  kind?: 'caught_up'
  /** Time of the event according to the sender's clock. */
  when?: Date
  /** The webhook that sent the event. */
  webhook: { id?: string; name?: string }
  service: ServiceName
  layerId?: number
  /** The URL of the changes; percent-decoded if the sender encoded the whole URL. */
  changesUrl?: string
  /** The URL of the geoprocessing job's status. */
  statusUrl?: string
  jobId?: string
  taskName?: string
  /** The parsed entry of the payload, unchanged. */
  raw: unknown
}

/**
 * The result of a geoprocessing job. Its names are always strings, in every dialect; like the names of a service, they
 * are empty if the payload lacks them.
 */
export interface JobEvent<T extends JobChangeType = JobChangeType> extends WebhookEvent<T> {
  jobId: string
  taskName: string
}

/** The event that a handler for the change types `T` receives, as a union of one type per change type. */
export type HandledEvent<T extends string> = T extends JobChangeType ? JobEvent<T> : WebhookEvent<T>

/** A payload and its events. */
export interface Parsed<Payload = unknown> {
  /** The parsed payload. */
  payload: Payload
  /** The change types of the events, in order and without duplicates. */
  changeTypes: string[]
  /** Contains at least one event: a payload of unknown shape becomes one event with an empty change type. */
  events: WebhookEvent[]
}
