export type { ErrorCode } from './error-statuses.ts'
export { WebhookError, type WebhookErrorOptions } from './errors.ts'
export type { Cause } from './explain/causes.ts'
export type { GivenRequest } from './explain/request.ts'
export type { Diagnosis } from './explain/types.ts'
export type { ChangeType, FeatureChangeType, JobChangeType, KnownChangeType } from './payload/change-types.ts'
export { POST_PERFORMED } from './payload/change-types.ts'
export type { HandledEvent, JobEvent, Parsed, ServiceName, WebhookEvent } from './payload/event.ts'
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
} from './payload/payload-types.ts'
export { createReceiver } from './receiver/create-receiver.ts'
export type { Delivery, StoredDelivery } from './receiver/delivery.ts'
export type { HandleResult, Handler } from './receiver/dispatch.ts'
export type { DuplicateStore } from './receiver/duplicates.ts'
export { type ExplainOptions, explain } from './receiver/explain.ts'
export { type ExplainedOptions, type ExplainedRefusal, explained } from './receiver/explained.ts'
export type { AttemptContext, HandlerContext, JoinedDeliveries } from './receiver/handler-context.ts'
export type { HeaderBag } from './receiver/headers.ts'
export type { KeyFunction } from './receiver/keys.ts'
export type { NextResult } from './receiver/next-handler.ts'
export type { Ended, Observer } from './receiver/observer.ts'
export type {
  CommonReceiverOptions,
  Inbox,
  ReceiverOptions,
  SignedOptions,
  UnsignedOptions,
} from './receiver/options.ts'
export type { Outcome } from './receiver/outcome.ts'
export type { StandardSchema } from './receiver/payload-schema.ts'
export type { Receiver, ReceiverStats } from './receiver/receiver-types.ts'
export type { ReadOptions, ReceiverRequest, RequestHead } from './receiver/request.ts'
export type { Body } from './signature/bytes.ts'
export type { SignatureEncoding } from './signature/encoding.ts'
export type { ReturnedKeys, SignatureKey, SignatureKeys, TenantKeys } from './signature/keyring.ts'
export {
  arcgis,
  type Profile,
  type ProfileName,
  portal,
  type SecretProfile,
  service,
} from './signature/profiles.ts'
export { type SignOptions, sign } from './signature/sign.ts'
export { type SignatureCode, type Verdict, type VerifyOptions, verify } from './signature/verify.ts'
