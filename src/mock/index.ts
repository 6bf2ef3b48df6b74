export type { CaSource } from '../shared/tls-trust.node.ts'
export type { Auth, Credentials, IssuedToken, Privilege, User } from './admin/tokens.ts'
export { type TokenApp, type TokensOptions, type TokenUser, tokens } from './admin/tokens.ts'
export { createMockService, type MockService } from './app.ts'
export type { Clock } from './clock.ts'
export { createManualClock, createRunningClock, type ManualClock, type RunningClock } from './clock.ts'
export type { Attempt } from './delivery/attempt.ts'
export type { Answer } from './delivery/http-client.ts'
export type { Notice } from './event-listeners.ts'
export type {
  DeliveryFaultName,
  ExtractionFaultName,
  Fault,
  FaultName,
  FaultSeed,
  Faults,
} from './faults/faults.ts'
export type {
  AppliedEdits,
  EditOptions,
  FeatureEdits,
  FeatureQuery,
  FeatureRow,
  FeatureService,
  FoundFeature,
} from './feature-service.ts'
export type { AttachmentEdits, EditResult, LayerResults } from './features/edits.ts'
export type { ExtractChangesOptions, ExtractVersion } from './features/extract/options.ts'
export type { FeatureDataSnapshot, LayerSnapshot, ServiceDataSnapshot } from './features/layer-data.ts'
export { fromGeoJson, type GeoJsonFeature } from './features/layer-seed.ts'
export type { FeatureSeed, FieldSeed, GeoJsonCollection, LayerSeed } from './features/model.ts'
export type {
  HandshakeOptions,
  MockServiceOptions,
  Product,
  ProductOptions,
  SignatureOptions,
  WindowOptions,
} from './options.ts'
export type { DeliverySettings } from './schemas.ts'
export type { MockEvent } from './state/events.ts'
export type { Service, ServiceReference, ServiceSeed } from './state/services.ts'
export type { Snapshot, SnapshotSeed } from './state/snapshot.ts'
export type {
  NewWebhook,
  ScheduleInfo,
  Webhook,
  WebhookChange,
  WebhookChanges,
  WebhookSeed,
} from './state/webhooks.ts'
export type { ServiceVersion } from './versions.ts'
