import type { FeatureChangeType, KnownChangeType } from './events.ts'

// The payloads that senders are known to send. geohook does not check a payload against them: use a schema for that.

/** One event of a payload in the service dialect. */
export interface ServicePayloadEvent {
  /** The change type. */
  eventType: KnownChangeType | (string & {})
  /** Milliseconds since 1970. */
  when: number
}

/** The payload of a feature service in the service dialect (docs/senders.md, "Payloads"). */
export interface FeaturePayload {
  serviceType: 'FeatureServer'
  /** The URL of the changes. Its query may be percent-encoded. */
  changesUrl: string
  /** The webhook's name. */
  name: string
  /** The webhook's id. */
  id: string
  /** Empty for the root folder. */
  folderName: string
  serviceName: string
  events: ServicePayloadEvent[]
}

/** The payload of a geoprocessing service in the service dialect (docs/senders.md, "Payloads"). */
export interface JobPayload {
  serviceType: 'GPServer'
  jobId: string
  /** The URL of the job's status. */
  statusURL: string
  /** The webhook's name. */
  name: string
  taskName: string
  /** Empty for the root folder. */
  folderName: string
  serviceName: string
  events: ServicePayloadEvent[]
}

/**
 * A payload in the service dialect (docs/senders.md, "Payloads"). geohook does not check that a payload has this
 * shape, which is the one that senders are known to send. Without a schema, write `delivery.payload as ServicePayload`.
 */
export type ServicePayload = FeaturePayload | JobPayload

/** One item of a payload in the hosted dialect: the events of one layer. */
export interface HostedPayloadItem {
  /** The webhook's name. */
  name: string
  layerId: number
  orgId: string
  serviceName: string
  /** Milliseconds since 1970. */
  lastUpdatedTime: number
  /** The URL of the changes, percent-encoded as a whole. `changesUrl` of an event is decoded. */
  changesUrl: string
  /** The change types. */
  events: (FeatureChangeType | (string & {}))[]
}

/**
 * A payload in the hosted dialect, that of ArcGIS Online (docs/senders.md, "Payloads"). geohook does not check that a
 * payload has this shape.
 */
export type HostedPayload = HostedPayloadItem[]

/** One event of a payload in the organization dialect: an operation on an object of a portal. */
export interface OrganizationPayloadEvent {
  /** The user who caused the event. */
  username: string
  userId: string
  /** Milliseconds since 1970. */
  when: number
  /** The change type. */
  operation: string
  /** The kind of object. */
  source: 'item' | 'group' | 'user' | (string & {})
  /** The id of the object. */
  id: string
  properties: Record<string, unknown>
}

/**
 * A payload in the organization dialect, that of webhooks of a portal (docs/senders.md, "Payloads"). geohook does not
 * check that a payload has this shape.
 */
export interface OrganizationPayload {
  info: {
    webhookName: string
    webhookId: string
    portalURL: string
    /** Milliseconds since 1970. */
    when: number
  }
  events: OrganizationPayloadEvent[]
}
