import type { IncomingHttpHeaders } from 'node:http'
import { isSuccess } from '../../shared/status.ts'
import type { FaultStore } from '../faults/faults.ts'
import { AdminError } from '../http/errors.ts'
import {
  CHANGE_METHODS,
  type Method,
  type OperationDescription,
  type Parameters,
  READ_METHODS,
} from '../http/operation.ts'
import { single } from '../http/request.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Attempt } from '../state/records.ts'
import type { Service, ServiceType } from '../state/services.ts'
import type { State } from '../state/snapshot.ts'
import { ANYONE, type Webhook, type WebhookChanges } from '../state/webhooks.ts'
import type { ServiceVersion } from '../versions.ts'
import type { Privilege, User } from './tokens.ts'

/** The parts of a mock service that the administration uses. */
export interface Context {
  readonly state: State
  readonly options: ResolvedOptions
  /**
   * Whether `/rest/info` says that the server belongs to the portal. `@esri/arcgis-rest-request` asks for it before its
   * first request to a server. If the user has signed in at a portal, it refuses a server without a portal, and if at a
   * server, one with a portal. So without the option `federated`, the last sign-in decides.
   */
  isFederated: boolean
  /** Resolves when every change so far is saved. */
  save(): Promise<void>
  readonly engine: {
    readonly log: { list(): readonly Attempt[] }
    register(webhook: Readonly<Webhook>): Promise<Attempt>
    checkUrl(webhook: Readonly<Webhook>): Promise<Attempt>
    readonly faults: FaultStore
    holdAnswer(milliseconds: number): Promise<unknown>
  }
}

export interface Call {
  context: Context
  user: User
  method: Method
  parameters: Parameters
  /** Scheme, host and port of the request. */
  origin: string
  /** Takes a fault that changes what a request does. Absent if the operation was not requested over HTTP. */
  takeFault?: FaultStore['takeAny']
}

/** The body of the response. */
type Result = object | Promise<object>

interface Description extends OperationDescription {
  /** Unique name within its scope. */
  name: string
  /** End of the path; empty for operations that list or read webhooks. Default: the name. */
  segment?: string
  since: ServiceVersion
  /** True if POST requests can change the state. */
  changes: boolean
  /** Name of the response's schema in the OpenAPI document. */
  response: string
}

/** An operation on nothing in particular, for example `generateToken`. It requires no token. */
export interface RootOperation extends Omit<Description, 'segment'> {
  scope: 'root'
  /** OpenAPI paths, for example `/sharing/rest/portals/{portalId}`. */
  paths: readonly string[]
  /** Method of `auth` that the operation requires. Without it, the service does not have the operation. */
  needs?: 'generateToken'
  run(call: RootCall): Result
}

export interface RootCall extends Omit<Call, 'user'> {
  /** The decoded names in the path. */
  names: Readonly<Record<string, string>>
  identify(): Promise<User>
}

export interface SiteOperation extends Description {
  scope: 'site'
  run(call: Call): Result
}

export interface ServiceOperation extends Description {
  scope: 'service'
  run(call: Call & { service: Service }): Result
}

export interface WebhookOperation extends Description {
  scope: 'webhook'
  run(call: Call & { webhook: Readonly<Webhook> }): Result
}

export type Operation = RootOperation | SiteOperation | ServiceOperation | WebhookOperation

type Kind = Pick<Description, 'methods' | 'since' | 'changes'>

export const READ: Kind = { methods: READ_METHODS, since: '11.1', changes: false }
export const CHANGE: Kind = { methods: CHANGE_METHODS, since: '11.1', changes: true }

const PRIVILEGE_NAMES: Record<Privilege, string> = {
  geoprocessing: 'the Geoprocessing privilege',
  features: 'the Feature layer privilege',
}

/** The user of every request if the service has no `auth`, and of the inspector. */
export const ANONYMOUS: User = { username: ANYONE, privileges: ['geoprocessing', 'features'] }

export async function identify(
  { options: { auth, clock } }: Context,
  parameters: Parameters,
  headers: IncomingHttpHeaders,
): Promise<User> {
  const parameter = single(parameters, 'token')
  if (!auth) return ANONYMOUS
  const candidates = [
    parameter,
    bearerToken(headers.authorization),
    bearerToken(headers['x-esri-authorization']),
  ]
  const [token, ...others] = new Set(candidates.filter((text) => text !== undefined))
  if (token === undefined) throw new AdminError(499, 'a token is required')
  if (others.length > 0) throw new AdminError(400, 'token is given more than once')
  const user = await auth.authenticate(token, clock.now())
  if (!user) throw new AdminError(498, 'the token is invalid or has expired')
  return user
}

/**
 * Returns the token of the scheme `Bearer` (RFC 6750, section 2.1); undefined for other schemes. The letter case of the
 * scheme does not matter (RFC 9110, section 11.1).
 */
function bearerToken(header: string | string[] | undefined): string | undefined {
  return /^bearer +(\S.*)$/i.exec(String(header ?? ''))?.[1]
}

/** Replaces the changed value of a member that an edit ignores with the old one. */
export function ignoreMember<Changes extends WebhookChanges>(
  { takeFault }: Pick<Call, 'takeFault'>,
  changes: Changes,
  webhook: Readonly<Webhook>,
): Changes {
  const fault = takeFault?.('edit_member_ignored')
  if (!fault) return changes
  const { member = 'hookUrl' } = fault
  return { ...changes, ...(member in webhook ? { [member]: webhook[member] } : {}) }
}

/** Requires the response to a request to have a 2xx status. @param requirement what the payload URL must do */
export async function requireAnswered(request: Promise<Attempt>, requirement: string): Promise<void> {
  const { answer, error = 'it gave no response' } = await request
  if (isSuccess(answer?.status)) return
  const reason = answer ? `it answered ${answer.status}` : error
  throw new AdminError(400, `${requirement} with a 2xx status: ${reason}`)
}

/**
 * Requires the privilege for the type of the service; operations on the whole site or the portal require both.
 */
export function requirePrivileges(user: User, serviceType: ServiceType | undefined): void {
  const needed: Privilege[] = []
  if (serviceType !== 'FeatureServer') needed.push('geoprocessing')
  if (serviceType !== 'GPServer') needed.push('features')
  const missing = needed.filter((privilege) => !user.privileges.includes(privilege))
  if (missing.length > 0)
    throw new AdminError(
      403,
      `this needs ${missing.map((privilege) => PRIVILEGE_NAMES[privilege]).join(' and ')}`,
    )
}
