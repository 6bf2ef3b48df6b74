import type { ResolvedOptions } from '../options.ts'
import type { Service } from '../state/services.ts'
import type { State } from '../state/snapshot.ts'
import type { Webhook } from '../state/webhook.ts'
import type { ServiceVersion } from '../versions.ts'
import type { User } from './auth.ts'
import type { Parameters } from './form-fields.ts'

/** A parameter as the OpenAPI document describes it. */
export interface ParameterDescription {
  name: string
  required: boolean
  description: string
  /** A JSON Schema object. */
  schema: Readonly<Record<string, unknown>>
}

/** Name of a response; the OpenAPI document has a schema for each. */
export type ResponseName =
  | 'Webhook'
  | 'Webhooks'
  | 'Status'
  | 'NotificationStatus'
  | 'Settings'
  | 'Token'
  | 'HostedWebhook'
  | 'HostedWebhooks'
  | 'HostedStatus'
  | 'HostedNotificationStatus'
  | 'PortalWebhook'
  | 'PortalWebhooks'
  | 'PortalStatus'
  | 'PortalNotificationStatus'
  | 'PortalSettings'
  | 'OAuthToken'
  | 'ServerInfo'
  | 'User'
  | 'Portal'

/** The options that the administration uses. */
export type ContextOptions = Pick<
  ResolvedOptions,
  | 'auth'
  | 'clock'
  | 'defaultActive'
  | 'errorFormat'
  | 'federated'
  | 'gather'
  | 'httpStatus'
  | 'like'
  | 'minimumWindowSeconds'
  | 'omitted'
  | 'version'
  | 'windowSeconds'
>

/**
 * Whether `/rest/info` says that the server belongs to the portal. `@esri/arcgis-rest-request` asks for it before its
 * first request to a server. If the user has signed in at a portal, it refuses a server without a portal, and if at a
 * server, one with a portal. So without the option `federated`, the last sign-in decides.
 */
export interface Federation {
  isFederated: boolean
}

/** The parts of a mock service that the administration uses. */
export interface Context {
  readonly state: State
  readonly options: ContextOptions
  readonly federation: Federation
  /** Resolves when every change so far is saved. */
  save(): Promise<void>
  /** The recorded attempts, oldest first. */
  attempts(): readonly RecordedAttempt[]
  /** Announces a webhook of a portal to its payload URL. Never rejects: a failure is recorded in the attempt. */
  register(webhook: Readonly<Webhook>): Promise<RecordedAttempt>
}

/** The parts of an attempt that the administration reports. */
export interface RecordedAttempt {
  webhookId: string
  /** Milliseconds since 1970. */
  sentAt: number
  request: { body: Uint8Array }
  answer?: { status: number; body: string }
  /** Reason why the attempt has no response. */
  error?: string
}

/** Arguments of an operation. */
export interface Call {
  context: Context
  user: User
  method: 'GET' | 'POST'
  parameters: Parameters
  /** Scheme, host and port of the request. */
  origin: string
}

/** Result of an operation. */
export interface OperationResult {
  body: object
  /** True if the state must be saved. */
  changed: boolean
}

type Result = OperationResult | Promise<OperationResult>

interface Description {
  /** Unique name. */
  name: string
  /** End of the path; empty for operations that list or read webhooks. */
  segment: string
  summary: string
  /** GET includes HEAD. */
  methods: readonly ('GET' | 'POST')[]
  since: ServiceVersion
  /** True if the operation can change the state. */
  changes: boolean
  /** Parameters in addition to `COMMON_PARAMETERS`. */
  parameters: readonly ParameterDescription[]
  response: ResponseName
}

/** An operation on nothing in particular, for example `generateToken`. It requires no token. */
export interface RootOperation extends Omit<Description, 'segment'> {
  scope: 'root'
  /** OpenAPI paths, for example `/sharing/rest/portals/{portalId}`. */
  paths: readonly string[]
  /** The method of `auth` without which a service does not have the operation. */
  needs?: 'generateToken' | 'generateAppToken'
  run(call: RootCall): Result
}

/** Arguments of a {@link RootOperation}. */
export interface RootCall extends Omit<Call, 'user'> {
  /** The decoded names in the path. */
  names: Readonly<Record<string, string>>
  /** @throws {AdminError} 499 without a token, 498 for an invalid or expired token */
  identify(): Promise<User>
}

/** An operation on all services. */
export interface SiteOperation extends Description {
  scope: 'site'
  run(call: Call): Result
}

/** An operation on the webhooks of a service. */
export interface ServiceOperation extends Description {
  scope: 'service'
  run(call: Call & { service: Service }): Result
}

/** An operation on one webhook. */
export interface WebhookOperation extends Description {
  scope: 'webhook'
  run(call: Call & { webhook: Readonly<Webhook> }): Result
}

/** An operation of the administration. */
export type Operation = RootOperation | SiteOperation | ServiceOperation | WebhookOperation

/** Methods of operations that read. With POST, clients can keep the token out of the URL. */
export const READ_METHODS: readonly ('GET' | 'POST')[] = ['GET', 'POST']
export const CHANGE_METHODS: readonly ('GET' | 'POST')[] = ['POST']

export const unchanged = (body: object): OperationResult => ({ body, changed: false })
export const changed = (body: object): OperationResult => ({ body, changed: true })
