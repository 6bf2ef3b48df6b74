import { WILDCARD } from '../../payload/events.ts'
import { isObject, tryJson } from '../../shared/json.ts'
import { AdminError, quote } from '../http/errors.ts'
import type { ParameterDescription, Parameters } from '../http/operation.ts'
import { readAll, readParameter, single } from '../http/request.ts'
import type { Behavior } from '../options.ts'
import { HOOK_URL_RULE, isHookUrl, MAX_KEY, MAX_NAME, MAX_URL, scheduleSchema } from '../schemas.ts'
import type { Service } from '../state/services.ts'
import type { ResolvedWindow, ScheduleInfo, Webhook, WebhookChanges } from '../state/webhooks.ts'
import { featureChangeTypesOf, type ServiceVersion } from '../versions.ts'
import { HOSTED_WILDCARD } from './hosted.ts'
import type { Context } from './operation.ts'

export function readUrl(parameters: Parameters, name: string): string | undefined {
  const value = single(parameters, name)
  if (value === undefined || isHookUrl(value)) return value
  throw new AdminError(400, `${name} ${HOOK_URL_RULE}`)
}

/**
 * Reads change types: comma-separated, as a JSON array, or as a repeated parameter. `All` means `*`.
 *
 * @returns the change types without duplicates, in the order of the request
 */
export function readChangeTypes(
  parameters: Parameters,
  name: string,
  { serviceType, version }: { serviceType: Webhook['serviceType']; version: ServiceVersion },
): string[] | undefined {
  const given = (parameters.get(name) ?? []).flatMap((value) => splitNames(value, name))
  const names = [...new Set(given.map((each) => (each === HOSTED_WILDCARD ? WILDCARD : each)))]
  if (names.length === 0) return undefined
  const allowed = [WILDCARD, ...(serviceType === 'GPServer' ? [] : featureChangeTypesOf(version))]
  const unknown = names.find((changeType) => !allowed.includes(changeType))
  if (unknown === undefined) return names
  throw new AdminError(400, `${name} holds ${quote(unknown)}; a ${serviceType} has ${allowed.join(', ')}`)
}

/** Splits names that are separated by commas, or reads a JSON array of them. */
export function splitNames(value: string, parameter: string): string[] {
  const isList = value.trimStart().startsWith('[')
  const names = isList ? tryJson(value) : value.split(',').filter((name) => name.trim() !== '')
  if (Array.isArray(names) && names.every((name) => typeof name === 'string'))
    return names.map((name) => name.trim())
  throw new AdminError(400, `${parameter} must be comma-separated or a JSON array of texts`)
}

/**
 * Reads `scheduleInfo`: a JSON object with all or some members (docs/senders.md, "Administration"). Geoprocessing
 * webhooks have no schedule. For them, any JSON object is accepted and ignored, because the vendor's Python client
 * always sends one.
 */
function readSchedule(
  parameters: Parameters,
  name: string,
  { serviceType, window }: Pick<Subject, 'serviceType' | 'window'>,
): Partial<ScheduleInfo> | undefined {
  const value = single(parameters, name)
  if (value === undefined) return undefined
  const schedule = tryJson(value)
  if (!isObject(schedule)) throw new AdminError(400, `${name} must be a JSON object`)
  if (serviceType === 'GPServer') return undefined
  for (const [member, memberValue] of Object.entries(schedule)) {
    const schema = SCHEDULE_MEMBERS.get(member)
    if (!schema) throw new AdminError(400, `${name} has no member ${quote(member)}`)
    if (!schema.safeParse(memberValue).success)
      throw new AdminError(400, `${name}.${member} has a wrong value`)
  }
  const { recurrenceInfo } = schedule as Partial<ScheduleInfo>
  if (recurrenceInfo?.frequency === 'second')
    recurrenceInfo.interval = Math.max(recurrenceInfo.interval, window.minimum / 1000)
  return schedule
}

/** Schemas of the members of `scheduleInfo`. Snapshots use the same schemas, so edited webhooks can be restored. */
const SCHEDULE_MEMBERS = new Map(Object.entries(scheduleSchema.shape))

/** The properties of a request that determine which parameters are required, and which values are valid. */
export interface Subject {
  operation: 'create' | 'edit'
  serviceType: Webhook['serviceType']
  version: ServiceVersion
  /** A window that is shorter than `minimum` is lengthened. */
  window: ResolvedWindow
  /** If keys are not shown, an empty `signatureKey` of an edit removes the key. */
  keys: Behavior['keys']
}

/**
 * Reads the parameters of create and edit (docs/specification.md, "Edit a webhook"). Optional parameters that are
 * absent or empty are left out.
 */
export const readChanges = (parameters: Parameters, subject: Subject): WebhookChanges =>
  readAll(
    parameters,
    WEBHOOK_PARAMETERS.map(({ read, ...given }) => ({
      ...given,
      required: isRequired(given.name, subject),
      read: read && ((all, name) => read(all, name, subject)),
    })),
  )

interface Parameter extends Omit<ParameterDescription, 'required' | 'read'> {
  name: keyof WebhookChanges
  /** Reads a value that needs more checks than those of the schema. */
  read?(parameters: Parameters, name: string, subject: Subject): unknown
}

const isRequired = (
  name: Parameter['name'],
  { operation, serviceType }: Pick<Subject, 'operation' | 'serviceType'>,
): boolean =>
  name === 'name' ||
  name === 'hookUrl' ||
  (name === 'changeTypes' && operation === 'edit' && serviceType === 'FeatureServer')

const KEY = { type: 'string', maxLength: MAX_KEY }

const WEBHOOK_PARAMETERS: readonly Parameter[] = [
  {
    name: 'name',
    description: 'The name of the webhook, unique within its service.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_NAME },
  },
  {
    name: 'changeTypes',
    description:
      'The event triggers: comma-separated, a JSON array, or the parameter repeated. An edit of a feature service webhook requires it.',
    schema: { type: 'string', examples: ['FeaturesCreated,FeaturesUpdated', '["*"]'] },
    read: readChangeTypes,
  },
  {
    name: 'signatureKey',
    description: 'The shared secret for the signature.',
    schema: KEY,
    // If answers hide the key, a client that writes back what it has read loses it.
    read: (all, name, { operation, keys }) =>
      readParameter(all, { name, required: false, schema: KEY }) ??
      (operation === 'edit' && keys !== 'shown' && all.has(name) ? '' : undefined),
  },
  {
    name: 'hookUrl',
    description: 'The payload URL.',
    schema: { type: 'string', format: 'uri', pattern: '^[Hh][Tt]{2}[Pp][Ss]?://', maxLength: MAX_URL },
    read: readUrl,
  },
  { name: 'active', description: 'Whether events are delivered.', schema: { type: 'boolean' } },
  {
    name: 'contentType',
    description: 'The media type of the payload.',
    schema: { type: 'string', enum: ['application/json', 'application/x-www-form-urlencoded'] },
  },
  {
    name: 'scheduleInfo',
    description:
      'When a feature service gathers events: a JSON object with all or some of name, state, startAt, recurrenceInfo.',
    schema: { type: 'string', contentMediaType: 'application/json' },
    read: readSchedule,
  },
  {
    name: 'payloadFormat',
    description: 'Whether the payload is indented.',
    schema: { type: 'string', enum: ['json', 'pjson'] },
  },
]

/** The parameters for the OpenAPI document. A parameter that only some webhooks require is described as optional. */
export const webhookParameters = (operation: Subject['operation']): ParameterDescription[] =>
  WEBHOOK_PARAMETERS.map(({ read: _, ...given }) => ({
    ...given,
    required: isRequired(given.name, { operation, serviceType: 'GPServer' }),
  }))

/**
 * Requires a name that is unique in its service.
 *
 * @param id id of the edited webhook, which may keep its name
 */
export function requireFreeName(
  { state }: Context,
  service: Service,
  name: string | undefined,
  id?: Webhook['id'],
): void {
  const holder = name === undefined ? undefined : state.webhooks.named(service, name)
  if (holder && holder.id !== id)
    throw new AdminError(400, 'name is taken by another webhook of this service')
}
