/** The wildcard: any change type (specification, "Events"). */
export const WILDCARD = '*'

/**
 * The trigger of the post operation, from version 11.3. The specification does not show its name; this one is our
 * choice (docs/decisions.md). Any other string can be given to `on` as well.
 */
export const POST_PERFORMED = 'PostPerformed'

/** Change types of feature services, in the order of the specification (docs/senders.md, "Change types"). */
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

/** Change types of geoprocessing services: the results of an asynchronous job (docs/senders.md, "Change types"). */
export const JOB_CHANGE_TYPES = [
  'esriJobSucceeded',
  'esriJobFailed',
  'esriJobCancelled',
  'esriJobTimedOut',
] as const

export type FeatureChangeType = (typeof FEATURE_CHANGE_TYPES)[number]

/** A change type that this version knows by name. */
export type KnownChangeType = FeatureChangeType | (typeof JOB_CHANGE_TYPES)[number]

/** Any change type: the known ones are completed by editors, every other string is allowed. */
export type ChangeType = KnownChangeType | typeof WILDCARD | (string & {})

type Edit = 'FeaturesCreated' | 'FeaturesUpdated' | 'FeaturesDeleted'

/** What the events of a subscription to `T` can bear as their change type. */
export type Covered<T extends string> = T extends typeof WILDCARD
  ? string
  : T extends 'FeaturesEdited'
    ? T | Edit
    : T

/** What the composite `FeaturesEdited` covers. */
const EDITS: readonly string[] = ['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted'] satisfies Edit[]

/** The names under which an event of this change type is subscribed to: its own, the composite over it, the wildcard. */
export function subscriptionsOf(changeType: string): string[] {
  return EDITS.includes(changeType) ? [changeType, 'FeaturesEdited', WILDCARD] : [changeType, WILDCARD]
}
