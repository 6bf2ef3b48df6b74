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
 * The trigger of the post operation, from version 11.3. The specification does not show its name; this one is our
 * choice (docs/decisions.md). If your service uses another name, pass that string to `on`.
 */
export const POST_PERFORMED = 'PostPerformed'

/** The results of an asynchronous job, which geoprocessing services send (docs/senders.md, "Change types"). */
export const JOB_CHANGE_TYPES = [
  'esriJobSucceeded',
  'esriJobFailed',
  'esriJobCancelled',
  'esriJobTimedOut',
] as const

/** A change type of the specification or of known senders. */
export type KnownChangeType = FeatureChangeType | (typeof JOB_CHANGE_TYPES)[number]

/** Any change type. Editors complete the known ones; every other string is allowed. */
export type ChangeType = KnownChangeType | typeof WILDCARD | (string & {})

type EditChangeType = 'FeaturesCreated' | 'FeaturesUpdated' | 'FeaturesDeleted'

/** The change types that events of a subscription to `T` can have. */
export type MatchedChangeType<T extends string> = T extends typeof WILDCARD
  ? string
  : T extends 'FeaturesEdited'
    ? T | EditChangeType
    : T

/** The change types that `FeaturesEdited` includes. */
const EDIT_CHANGE_TYPES: readonly string[] = [
  'FeaturesCreated',
  'FeaturesUpdated',
  'FeaturesDeleted',
] satisfies EditChangeType[]

/** Returns the subscriptions that match a change type: itself, `FeaturesEdited` for edits, and the wildcard. */
export function subscriptionsOf(changeType: string): string[] {
  return EDIT_CHANGE_TYPES.includes(changeType)
    ? [changeType, 'FeaturesEdited', WILDCARD]
    : [changeType, WILDCARD]
}
