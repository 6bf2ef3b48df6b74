export type { ChangesCode } from '../errors.ts'
export type { TokenSource } from '../shared/tokens.ts'
export type { FeatureComparison } from './compare-layer.ts'
export { type ChangesClient, createChanges } from './create-changes.ts'
export { type EditFields, readEditor } from './editor.ts'
export { ChangesError } from './errors.ts'
export type { CatchUpOptions, ChangesInbox, ChangesOptions } from './options.ts'
export type { FeaturePage, QueryOptions } from './query.ts'
export { createSnapshots, type LayerComparison, type Snapshots, type SnapshotsOptions } from './snapshots.ts'
export { toGeoJson } from './to-geojson.ts'
export type {
  Attachment,
  Changes,
  ChangesContext,
  ChangesObserver,
  Feature,
  Geometry,
  LayerChanges,
  ResyncContext,
  ResyncReason,
  Step,
  StepResult,
} from './types.ts'
