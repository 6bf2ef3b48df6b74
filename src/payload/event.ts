/** The service that an event comes from. What the payload does not say is an empty string. */
export interface ServiceName {
  folderName: string
  serviceName: string
  serviceType: 'FeatureServer' | 'GPServer' | (string & {})
}

/** One entry of a payload, in one form for all dialects. Absent is what the payload does not say. */
export interface WebhookEvent<T extends string = string> {
  /** The trigger's name, spelled as the sender spells it; empty where the payload names none. */
  changeType: T
  /** When it happened, by the sender's clock. */
  when?: Date
  /** The subscription that fired. */
  webhook: { id?: string; name?: string }
  service: ServiceName
  layerId?: number
  /** Where the changes can be fetched, percent-decoded where it came wholly encoded. */
  changesUrl?: string
  /** Where the state of a geoprocessing job can be read. */
  statusUrl?: string
  jobId?: string
  taskName?: string
  /** The entry as it was parsed. */
  raw: unknown
}

/** What a payload says, whatever its dialect. */
export interface Parsed<Payload = unknown> {
  /** The payload as parsed. */
  payload: Payload
  /** The change types of the events, each once, in order. */
  changeTypes: string[]
  /** At least one: a payload of unknown shape is one event without a change type. */
  events: WebhookEvent[]
}
