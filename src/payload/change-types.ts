/** The wildcard: any change type (specification, "Events"). */
export const WILDCARD = '*'

/**
 * The trigger of the post operation, from version 11.3. The specification does not show its name; this one is our
 * choice (docs/decisions.md). Any other string can be given to `on` as well.
 */
export const POST_PERFORMED = 'PostPerformed'

/** A trigger of a feature service. */
export type FeatureChangeType =
  | 'FeaturesCreated'
  | 'FeaturesUpdated'
  | 'FeaturesDeleted'
  | 'FeaturesEdited'
  | 'AttachmentsCreated'
  | 'AttachmentsUpdated'
  | 'AttachmentsDeleted'
  | 'LayerSchemaChanged'
  | 'LayerDefinitionChanged'
  | 'FeatureServiceDefinitionChanged'
  | typeof POST_PERFORMED

/** What a geoprocessing service reports when an asynchronous job ends (field facts, "changeTypes"). */
type JobChangeType = 'esriJobSucceeded' | 'esriJobFailed' | 'esriJobCancelled' | 'esriJobTimedOut'

/** A change type that this version knows by name. */
export type KnownChangeType = FeatureChangeType | JobChangeType

/** The triggers of feature services, in the order of the specification's table (field facts, "changeTypes"). */
export const FEATURE_CHANGE_TYPES: readonly FeatureChangeType[] = [
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
  POST_PERFORMED,
]

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
