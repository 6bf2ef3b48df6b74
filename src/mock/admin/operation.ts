import type { Service } from '../state/services.ts'
import type { Webhook } from '../state/webhook.ts'
import type { ServiceVersion } from '../versions.ts'
import type { User } from './auth.ts'
import type { Context } from './context.ts'
import type { Parameters } from './form-fields.ts'

/** A parameter, as an OpenAPI document describes it. */
export interface ParameterDescription {
  name: string
  required: boolean
  description: string
  /** A JSON Schema object. */
  schema: Readonly<Record<string, unknown>>
}

/** The name of an answer's schema. */
export type ResponseName = 'Webhook' | 'Webhooks' | 'Status' | 'NotificationStatus' | 'Settings' | 'Token'

/** What an operation is given. */
export interface Call {
  context: Context
  user: User
  method: 'GET' | 'POST'
  parameters: Parameters
}

/** Its answer, and whether there is something to save. */
export interface Outcome {
  body: object
  changed: boolean
}

interface Description {
  /** Unique. */
  name: string
  /** The last part of its path; empty for lists and for reading. */
  segment: string
  summary: string
  /** GET stands for HEAD too. */
  methods: readonly ('GET' | 'POST')[]
  since: ServiceVersion
  /** Whether it can change what the service keeps. */
  changes: boolean
  /** Its own, beside those that all have: `COMMON_PARAMETERS`. */
  parameters: readonly ParameterDescription[]
  response: ResponseName
}

/** `generateToken`: nobody has to say who they are first. */
export interface RootOperation extends Description {
  scope: 'root'
  run(call: Omit<Call, 'user'>): Promise<Outcome>
}

/** On all webhooks of all services, or on what holds for all of them. */
export interface SiteOperation extends Description {
  scope: 'site'
  run(call: Call): Outcome
}

/** On the webhooks of a service. */
export interface ServiceOperation extends Description {
  scope: 'service'
  run(call: Call & { service: Service }): Outcome
}

/** On one webhook. */
export interface WebhookOperation extends Description {
  scope: 'webhook'
  run(call: Call & { webhook: Readonly<Webhook> }): Outcome
}

/** An operation of the administration. */
export type Operation = RootOperation | SiteOperation | ServiceOperation | WebhookOperation

/** The methods of what only reads; the family posts everything, so that a token need not stand in a URL. */
export const READ: readonly ('GET' | 'POST')[] = ['GET', 'POST']
export const CHANGE: readonly ('GET' | 'POST')[] = ['POST']

export const unchanged = (body: object): Outcome => ({ body, changed: false })
export const changed = (body: object): Outcome => ({ body, changed: true })
