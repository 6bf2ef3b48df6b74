import { AdminError, quote } from '../../http/errors.ts'
import { MAX_KEY, MAX_NAME, MAX_URL, portalConfigSchema } from '../../schemas.ts'
import { ALL_OPERATIONS, isPortalTrigger, type PortalConfig } from '../../state/portal.ts'
import type { WebhookChanges } from '../../state/webhook.ts'
import { type Parameters, single } from '../form-fields.ts'
import type { ParameterDescription } from '../operation.ts'
import { oneOf, readEach, readUrl, required, text } from '../parameter-values.ts'

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
