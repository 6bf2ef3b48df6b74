/** The wildcard: any change type (docs/specification.md, "Events"). */
export const WILDCARD = '*'

/** The triggers of feature services (docs/senders.md, "Change types"). */
export const FEATURE_CHANGE_TYPES = [
  'FeaturesCreated',
  'FeaturesUpdated',
  'FeaturesDeleted',
  'FeaturesEdited',
  'AttachmentsCreated',
  'AttachmentsUpdated',
  'AttachmentsDeleted',
  'LayerSchemaChanged',
  'LayerDefinitionChanged',
  'FeatureServiceDefinitionChanged',
  'PostPerformed',
] as const

/** A trigger of a feature service. */
export type FeatureChangeType = (typeof FEATURE_CHANGE_TYPES)[number]

/**
 * The trigger of the post operation (version 11.3 and later). The specification gives the trigger no name, so this name
 * is our choice (docs/decisions.md). If your service uses another name, pass that name to `on`.
 */
export const POST_PERFORMED = 'PostPerformed'

/** Job results that geoprocessing services send (docs/senders.md, "Change types"). */
export const JOB_CHANGE_TYPES = [
  'esriJobSucceeded',
  'esriJobFailed',
  'esriJobCancelled',
  'esriJobTimedOut',
] as const

/** The result of a geoprocessing job. */
export type JobChangeType = (typeof JOB_CHANGE_TYPES)[number]

/** A change type from the specification or from known senders. */
export type KnownChangeType = FeatureChangeType | JobChangeType

/** Every known change type. */
export const KNOWN_CHANGE_TYPES: readonly string[] = [...FEATURE_CHANGE_TYPES, ...JOB_CHANGE_TYPES]

/** Any change type. Code editors suggest the known change types; every other string is allowed. */
export type ChangeType = KnownChangeType | typeof WILDCARD | (string & {})

type EditChangeType = 'FeaturesCreated' | 'FeaturesUpdated' | 'FeaturesDeleted'

/** The change types of the events that a handler for `T` receives. */
export type MatchedChangeType<T extends string> = T extends typeof WILDCARD
  ? string
  : T extends 'FeaturesEdited'
    ? T | EditChangeType
    : T

export const isJobChangeType = (changeType: string): boolean =>
  (JOB_CHANGE_TYPES as readonly string[]).includes(changeType)

/** The change types that `FeaturesEdited` includes. */
const EDIT_CHANGE_TYPES: readonly string[] = [
  'FeaturesCreated',
  'FeaturesUpdated',
  'FeaturesDeleted',
] satisfies EditChangeType[]

/**
 * Returns the names that a handler can subscribe to in order to receive a change type: its own name, `FeaturesEdited`
 * for edits, and the wildcard.
 */
export function subscriptionsOf(changeType: string): string[] {
  return EDIT_CHANGE_TYPES.includes(changeType)
    ? [changeType, 'FeaturesEdited', WILDCARD]
    : [changeType, WILDCARD]
}

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
  source: 'items' | 'groups' | 'users' | (string & {})
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
