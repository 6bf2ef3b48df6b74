export type { ErrorCode } from './errors.ts'
export { WebhookError } from './errors.ts'
export type { Cause } from './explain/causes.ts'
export { type ExplainedRefusal, explain, explainRefusals } from './explain/explain.ts'
export type { Diagnosis, ExplainOptions, GivenRequest } from './explain/types.ts'
export type {
  ChangeType,
  HandledEvent,
  KnownChangeType,
  Parsed,
  ServiceName,
  WebhookEvent,
} from './payload/events.ts'
export { type ParseOptions, type ParseResult, parsePayload } from './payload/parse.ts'
export type {
  FeaturePayload,
  HostedPayload,
  JobPayload,
  OrganizationPayload,
  ServicePayload,
} from './payload/types.ts'
export { PermanentFailure, RetryAfter } from './receiver/failures.ts'
export { createReceiver } from './receiver/receiver.ts'
export { closeOnSignal, type ShutdownOptions } from './receiver/shutdown.ts'
export type {
  AttemptContext,
  Delivery,
  DuplicateStore,
  Ended,
  HandleOptions,
  HandleResult,
  Handler,
  HandlerContext,
  HandlerOptions,
  HeaderBag,
  Inbox,
  JoinedDeliveries,
  KeyFunction,
  KeyStats,
  Observer,
  Outcome,
  Receiver,
  ReceiverOptions,
  ReceiverStats,
  RequestHead,
  StandardSchema,
  StoredDelivery,
} from './receiver/types.ts'
export type { Body } from './shared/bytes.ts'
export type { KeyringFile, SignatureKey, SignatureKeys, TenantKeys } from './signature/keyring.ts'
export {
  arcgis,
  type Profile,
  type ProfileName,
  portal,
  type SecretProfile,
  service,
} from './signature/profiles.ts'
export type { SignatureEncoding } from './signature/signature.ts'
export {
  type SignOptions,
  sign,
  type VerifyOptions,
  type VerifyResult,
  verify,
} from './signature/signature.ts'
