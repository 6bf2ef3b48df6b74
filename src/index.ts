export type { ErrorCode } from './errors.ts'
export { WebhookError, type WebhookErrorOptions } from './errors.ts'
export type { Cause } from './explain/causes.ts'
export { explain } from './explain/explain.ts'
export { type ExplainedOptions, type ExplainedRefusal, explained } from './explain/explained.ts'
export type { Diagnosis, ExplainOptions, GivenRequest } from './explain/types.ts'
export type {
  ChangeType,
  FeatureChangeType,
  HandledEvent,
  JobChangeType,
  JobEvent,
  KnownChangeType,
  Parsed,
  ServiceName,
  WebhookEvent,
} from './payload/events.ts'
export { POST_PERFORMED } from './payload/events.ts'
export { type ParseOptions, type ParseResult, type PayloadCode, parsePayload } from './payload/parse.ts'
export type {
  FeaturePayload,
  HostedPayload,
  HostedPayloadItem,
  JobPayload,
  OrganizationPayload,
  OrganizationPayloadEvent,
  ServicePayload,
  ServicePayloadEvent,
} from './payload/types.ts'
export { createReceiver } from './receiver/receiver.ts'
export type {
  AttemptContext,
  CommonReceiverOptions,
  Delivery,
  DuplicateStore,
  Ended,
  HandleResult,
  Handler,
  HandlerContext,
  HeaderBag,
  Inbox,
  JoinedDeliveries,
  KeyFunction,
  NextResult,
  Observer,
  Outcome,
  ReadOptions,
  Receiver,
  ReceiverOptions,
  ReceiverRequest,
  ReceiverStats,
  RequestHead,
  SignedOptions,
  StandardSchema,
  StoredDelivery,
  UnsignedOptions,
} from './receiver/types.ts'
export type { Body } from './shared/bytes.ts'
export type { ReturnedKeys, SignatureKey, SignatureKeys, TenantKeys } from './signature/keyring.ts'
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
  type SignatureCode,
  type SignOptions,
  sign,
  type Verdict,
  type VerifyOptions,
  verify,
} from './signature/signature.ts'
