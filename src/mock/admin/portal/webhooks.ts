import { WILDCARD } from '../../../payload/events.ts'
import { AdminError, quote } from '../../http/errors.ts'
import type { ParameterDescription } from '../../http/operation.ts'
import { type Parameters, single } from '../../http/request.ts'
import { MAX_KEY, MAX_NAME, MAX_URL, portalConfigSchema } from '../../schemas.ts'
import {
  ALL_OPERATIONS,
  DEFAULT_PORTAL_CONFIG,
  isPortalTrigger,
  type PortalConfig,
} from '../../state/portal.ts'
import type { Webhook, WebhookChanges } from '../../state/webhooks.ts'
import type { RecordedAttempt } from '../operation.ts'
import { oneOf, readEach, readUrl, required, text, wholeNumber } from '../parameters.ts'

/** The members of a list that tell a client where it is. */
export interface Page {
  total: number
  /** Position of the first entry, from 1. */
  start: number
  num: number
  /** `start` of the next page; -1 on the last. */
  nextStart: number
}

const DEFAULT_NUM = 25
const MAX_NUM = 100
const MAX_START = 100_000_000

export const PAGING: readonly ParameterDescription[] = [
  {
    name: 'start',
    required: false,
    description: 'Position of the first entry, from 1.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_START },
  },
  {
    name: 'num',
    required: false,
    description: 'Maximum number of entries.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_NUM },
  },
]

/** @throws {AdminError} 400 */
export function pageOf<T>(entries: readonly T[], parameters: Parameters): { page: Page; entries: T[] } {
  const { start = 1, num = DEFAULT_NUM } = readEach([
    ['start', () => wholeNumber(1, MAX_START)(parameters, 'start')],
    ['num', () => wholeNumber(1, MAX_NUM)(parameters, 'num')],
  ]) as { start?: number; num?: number }
  const end = start - 1 + num
  const nextStart = end < entries.length ? end + 1 : -1
  return { page: { total: entries.length, start, num, nextStart }, entries: entries.slice(start - 1, end) }
}

/** A webhook as a portal writes it (docs/senders.md, "Organization webhooks"). */
export interface PortalWebhook {
  id: string
  /** Id of the portal. */
  accountId: string
  payloadUrl: string
  secret: string
  isActive: boolean
  name: string
  config: PortalConfig
  ownerId: string
  created: number
  modified: number
  events: string[]
}

export const toPortalWebhook = (webhook: Readonly<Webhook>): PortalWebhook => ({
  id: webhook.id,
  accountId: webhook.serviceName,
  payloadUrl: webhook.hookUrl,
  secret: webhook.signatureKey,
  isActive: webhook.active,
  name: webhook.name,
  config: webhook.config ?? DEFAULT_PORTAL_CONFIG,
  ownerId: webhook.ownerId,
  created: webhook.created,
  modified: webhook.modified,
  events: webhook.changeTypes.map((name) => (name === WILDCARD ? ALL_OPERATIONS : name)),
})

/** The list of webhooks. */
export type PortalWebhooks = Page & { webhooks: PortalWebhook[] }

/** An attempt as `notificationStatus` of a portal writes it. */
export const toNotification = ({ webhookId, sentAt, request, answer, error }: RecordedAttempt): object => ({
  id: webhookId,
  isInvoked: answer !== undefined && isSuccess(answer),
  invokedTimestamp: new Date(sentAt).toISOString().replace('T', ' ').replace('Z', ''),
  responseText: answer?.body ?? error ?? '',
  payload: Buffer.from(request.body).toString(),
})

/** True for any 2xx status (docs/decisions.md). */
export const isSuccess = ({ status }: { status: number }): boolean => status >= 200 && status < 300

const CHANGES = ['allChanges', 'manualChanges']
const MAX_TRIGGERS = 100
const MAX_TRIGGER = 256
const MAX_CONFIG = 8192

/**
 * Reads the parameters of createWebhook and update. Absent parameters are left out; an empty `secret` removes it, because
 * the released client sends all parameters (docs/senders.md, "Organization webhooks").
 *
 * @throws {AdminError} 400 with a message for each invalid parameter
 */
export function readPortalChanges(parameters: Parameters, operation: 'create' | 'update'): WebhookChanges {
  const isRequired = operation === 'create'
  return readEach([
    ['name', () => whenRequired('name', text(MAX_NAME)(parameters, 'name'), isRequired)],
    ['hookUrl', () => whenRequired('url', readUrl(parameters, 'url'), isRequired)],
    [
      'signatureKey',
      () => text(MAX_KEY)(parameters, 'secret') ?? (parameters.has('secret') ? '' : undefined),
    ],
    ['config', () => readConfig(parameters)],
    ['changeTypes', () => readTriggers(parameters)],
  ])
}

const whenRequired = <T>(name: string, value: T | undefined, isRequired: boolean): T | undefined =>
  isRequired ? required(name, value) : value

function readConfig(parameters: Parameters): PortalConfig | undefined {
  const value = single(parameters, 'config')
  if (value === undefined) return undefined
  const config = value.length <= MAX_CONFIG ? parseJson(value) : undefined
  const result = portalConfigSchema.safeParse(config)
  if (result.success) return result.data as unknown as PortalConfig
  throw new AdminError(
    400,
    'config must be a JSON object like {"deactivationPolicy":{"numberOfFailures":5,"daysInPast":5}}',
  )
}

/** @returns undefined if the request does not say which events it means */
function readTriggers(parameters: Parameters): string[] | undefined {
  const changes = oneOf(CHANGES)(parameters, 'changes')
  const names = (parameters.get('events') ?? []).flatMap(splitTriggers)
  if (changes === 'allChanges') return [ALL_OPERATIONS]
  if (names.length === 0) {
    if (changes === undefined) return undefined
    throw new AdminError(400, 'events is required with manualChanges')
  }
  const unknown = names.find((name) => name.length > MAX_TRIGGER || !isPortalTrigger(name))
  if (unknown !== undefined)
    throw new AdminError(
      400,
      `events holds ${quote(unknown)}; use /, /items, /items/add, /items/<id> or /items/<id>/<operation>, also of groups and users`,
    )
  if (names.length > MAX_TRIGGERS) throw new AdminError(400, `events has more than ${MAX_TRIGGERS} triggers`)
  return [...new Set(names)]
}

/** Splits text with commas, or a JSON array. The released client writes `ALL` for every event. */
function splitTriggers(value: string): string[] {
  const parsed = value.trimStart().startsWith('[') ? parseJson(value) : undefined
  const names = Array.isArray(parsed) ? parsed.map(toTrigger) : value.split(',')
  return names
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .map((name) => (name.toUpperCase() === 'ALL' ? ALL_OPERATIONS : name))
}

/** @throws {AdminError} 400 */
function toTrigger(name: unknown): string {
  if (typeof name === 'string') return name
  throw new AdminError(400, 'events must be a JSON array of strings')
}

/** @returns undefined for invalid JSON */
function parseJson(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

/** The parameters for the OpenAPI document. */
export const portalParameters = (operation: 'create' | 'update'): ParameterDescription[] => [
  {
    name: 'name',
    required: operation === 'create',
    description: 'The name of the webhook, unique within the portal.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_NAME },
  },
  {
    name: 'url',
    required: operation === 'create',
    description: 'The payload URL. It must answer the registration with a 2xx status.',
    schema: { type: 'string', format: 'uri', maxLength: MAX_URL },
  },
  {
    name: 'secret',
    required: false,
    description: 'Sent in the header secret of each delivery. An empty value removes it.',
    schema: { type: 'string', maxLength: MAX_KEY },
  },
  {
    name: 'config',
    required: false,
    description: 'A JSON object with deactivationPolicy: numberOfFailures and daysInPast.',
    schema: { type: 'string', contentMediaType: 'application/json', maxLength: MAX_CONFIG },
  },
  {
    name: 'changes',
    required: false,
    description: 'Whether the webhook gets every event, or those in the parameter events.',
    schema: { type: 'string', enum: CHANGES },
  },
  {
    name: 'events',
    required: false,
    description: 'The triggers: comma-separated, a JSON array, or the parameter repeated.',
    schema: { type: 'string', examples: ['/items/add,/groups'] },
  },
]
