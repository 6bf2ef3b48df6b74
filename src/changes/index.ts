export type { ChangesCode } from '../errors.ts'
export type { CatchUp } from './catch-up.ts'
export type { FeatureComparison } from './compare-layer.ts'
export { type ChangesClient, createChanges } from './create-changes.ts'
export { ChangesError, type ChangesErrorDetails, type Interval } from './errors.ts'
export type { CatchUpOptions, ChangesInbox, ChangesOptions } from './options.ts'
export type { Fetch } from './request.ts'
export {
  createSnapshots,
  type LayerComparison,
  type Snapshots,
  type SnapshotsContext,
  type SnapshotsOptions,
} from './snapshots.ts'
export { type GeoJsonFeature, type GeoJsonGeometry, toGeoJSON } from './to-geojson.ts'
export { type Credentials, type EditFields, type EditorInfo, editor, type TokenSource } from './token.ts'
export type {
  Attachment,
  Changes,
  ChangesContext,
  ChangesObserver,
  ChangesSource,
  CopyService,
  Feature,
  Geometry,
  LayerChanges,
  ResyncContext,
  ResyncReason,
  Step,
  StepName,
  StepResult,
} from './types.ts'
