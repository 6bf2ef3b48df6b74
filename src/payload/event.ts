/** The service that an event comes from. Names missing from the payload are empty strings. */
export interface ServiceName {
  folderName: string
  serviceName: string
  serviceType: 'FeatureServer' | 'GPServer' | (string & {})
}

/** One entry of a payload, in the same shape for all dialects. Members missing from the payload are absent. */
export interface WebhookEvent<T extends string = string> {
  /** The name of the trigger as the sender spells it; empty if the payload does not name one. */
  changeType: T
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

/** A payload and its events. */
export interface Parsed<Payload = unknown> {
  /** The parsed payload. */
  payload: Payload
  /** The change types of the events, in order and without duplicates. */
  changeTypes: string[]
  /** At least one event: a payload of unknown shape becomes one event without a change type. */
  events: WebhookEvent[]
}
