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
