export type { ChangesCode } from '../errors.ts'
export type { CatchUp } from './catch-up.ts'
export type { FeatureComparison } from './compare-layer.ts'
export { type ChangesClient, createChanges } from './create-changes.ts'
export type { Interval } from './errors.ts'
export { ChangesError, type ChangesErrorDetails } from './errors.ts'
export type { CatchUpOptions, ChangesInbox, ChangesOptions } from './options.ts'
export type { Fetch } from './request.ts'
export type { LayerComparison, Snapshots, SnapshotsContext } from './snapshots.ts'
export { createSnapshots, type SnapshotsOptions } from './snapshots.ts'
export { type GeoJsonFeature, type GeoJsonGeometry, toGeoJSON } from './to-geojson.ts'
export type { Credentials, TokenSource } from './token.ts'
export { type EditFields, type EditorInfo, editor } from './token.ts'
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
