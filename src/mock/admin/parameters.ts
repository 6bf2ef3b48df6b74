import { WILDCARD } from '../../payload/events.ts'
import { AdminError, quote } from '../http/errors.ts'
import type { ParameterDescription } from '../http/operation.ts'
import { type Parameters, single } from '../http/request.ts'
import { HOOK_URL_RULE, isHookUrl, MAX_KEY, MAX_NAME, MAX_URL, scheduleSchema } from '../schemas.ts'
import type { Service } from '../state/services.ts'
import type { ResolvedWindow, ScheduleInfo, Webhook, WebhookChanges } from '../state/webhooks.ts'
import { featureChangeTypesOf, type ServiceVersion } from '../versions.ts'
import type { Context } from './operation.ts'

/** Reads one parameter; returns undefined if it is absent. Throws an AdminError 400 for an invalid value. */
export type Read<T> = (parameters: Parameters, name: string) => T | undefined

/** Reads a string; refuses leading or trailing white space and control characters. */
export function text(maxLength: number): Read<string> {
  return (parameters, name) => {
    const value = single(parameters, name)
    if (value === undefined) return undefined
    if (value !== value.trim()) throw new AdminError(400, `${name} has white space around it`)
    if (/\p{Cc}/u.test(value)) throw new AdminError(400, `${name} holds control characters`)
    if (value.length > maxLength) throw new AdminError(400, `${name} is longer than ${maxLength} characters`)
    return value
  }
}

/** Reads one of the allowed words. */
export function oneOf(allowed: readonly string[]): Read<string> {
  return (parameters, name) => {
    const value = single(parameters, name)
    if (value === undefined || allowed.includes(value)) return value
    throw new AdminError(400, `${name} must be one of ${allowed.join(', ')}`)
  }
}

/** Reads `true` or `false` in any letter case: Python writes `True`. */
export function boolean(parameters: Parameters, name: string): boolean | undefined {
  const value = single(parameters, name)?.toLowerCase()
  if (value === undefined) return undefined
  if (value !== 'true' && value !== 'false') throw new AdminError(400, `${name} must be one of true, false`)
  return value === 'true'
}

export function wholeNumber(minimum: number, maximum: number): Read<number> {
  return (parameters, name) => {
    const value = single(parameters, name)
    if (value === undefined) return undefined
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
    if (number >= minimum && number <= maximum) return number
    throw new AdminError(400, `${name} must be a whole number from ${minimum} to ${maximum}`)
  }
}

export function readUrl(parameters: Parameters, name: string): string | undefined {
  const value = single(parameters, name)
  if (value === undefined || isHookUrl(value)) return value
  throw new AdminError(400, `${name} ${HOOK_URL_RULE}`)
}

/**
 * Reads change types: comma-separated, as a JSON array, or as a repeated parameter.
 *
 * @returns the change types without duplicates, in the order of the request
 * @throws {AdminError} 400 for an invalid value, or a change type that the service or its version does not have
 */
export function readChangeTypes(
  parameters: Parameters,
  name: string,
  { serviceType, version }: { serviceType: Webhook['serviceType']; version: ServiceVersion },
): string[] | undefined {
  const names = [...new Set((parameters.get(name) ?? []).flatMap(splitNames))]
  if (names.length === 0) return undefined
  const allowed = [WILDCARD, ...(serviceType === 'GPServer' ? [] : featureChangeTypesOf(version))]
  const unknown = names.find((changeType) => !allowed.includes(changeType))
  if (unknown === undefined) return names
  throw new AdminError(400, `${name} holds ${quote(unknown)}; a ${serviceType} has ${allowed.join(', ')}`)
}

function splitNames(value: string): string[] {
  if (!value.trimStart().startsWith('[')) {
    return value
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
  }
  const names = parseJson(value)
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names
  throw new AdminError(400, 'changeTypes must be comma-separated or a JSON array of texts')
}

/**
 * Reads `scheduleInfo`: a JSON object with all or some members (docs/senders.md, "Administration"). Geoprocessing
 * webhooks have no schedule. For them, any JSON object is accepted and ignored, because the vendor's Python client
 * always sends one.
 *
 * @throws {AdminError} 400
 */
function readSchedule(
  parameters: Parameters,
  name: string,
  { serviceType, window }: Pick<Subject, 'serviceType' | 'window'>,
): Partial<ScheduleInfo> | undefined {
  const value = single(parameters, name)
  if (value === undefined) return undefined
  const schedule = parseJson(value)
  if (!isObject(schedule)) throw new AdminError(400, `${name} must be a JSON object`)
  if (serviceType === 'GPServer') return undefined
  for (const [member, memberValue] of Object.entries(schedule)) {
    const schema = SCHEDULE_MEMBERS.get(member)
    if (!schema) throw new AdminError(400, `${name} has no member ${quote(member)}`)
    if (!schema.safeParse(memberValue).success)
      throw new AdminError(400, `${name}.${member} has a wrong value`)
  }
  return withRecurrence(schedule, window.minimum / 1000)
}

/** Schemas of the members of `scheduleInfo`. Snapshots use the same schemas, so edited webhooks can be restored. */
const SCHEDULE_MEMBERS = new Map(Object.entries(scheduleSchema.shape))

/** Puts the members of `recurrenceInfo` in the specification's order, and lengthens a window that is too short. */
function withRecurrence(
  { recurrenceInfo, ...others }: Partial<ScheduleInfo>,
  minimumSeconds: number,
): Partial<ScheduleInfo> {
  if (!recurrenceInfo) return others
  const { interval, frequency } = recurrenceInfo
  const length = frequency === 'second' ? Math.max(interval, minimumSeconds) : interval
  return { ...others, recurrenceInfo: { interval: length, frequency } }
}

/** @returns undefined for invalid JSON */
function parseJson(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Reads several parameters, and omits absent ones.
 *
 * @throws {AdminError} 400 with a message for each invalid parameter
 */
export function readEach(
  reads: Iterable<readonly [name: string, read: () => unknown]>,
): Record<string, unknown> {
  const messages: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, read] of reads) {
    try {
      const value = read()
      if (value !== undefined) values[name] = value
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      messages.push(...error.messages)
    }
  }
  if (messages.length > 0) throw new AdminError(400, ...messages)
  return values
}

/** @throws {AdminError} 400 if the value is absent */
export function required<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw new AdminError(400, `${name} is required`)
  return value
}

/** The properties of a request that determine which parameters are required, and which values are valid. */
export interface Subject {
  operation: 'create' | 'edit'
  serviceType: Webhook['serviceType']
  version: ServiceVersion
  /** A window that is shorter than `minimum` is lengthened. */
  window: ResolvedWindow
}

/**
 * Reads the parameters of create and edit (docs/specification.md, "Edit a webhook"). Optional parameters that are
 * absent or empty are left out.
 *
 * @throws {AdminError} 400 with a message for each invalid parameter
 */
export const readChanges = (parameters: Parameters, subject: Subject): WebhookChanges =>
  readEach(
    WEBHOOK_PARAMETERS.map(({ name, read, isRequired }) => [
      name,
      () => {
        const value = read(parameters, name, subject)
        return isRequired(subject) ? required(name, value) : value
      },
    ]),
  )

interface Parameter extends Pick<ParameterDescription, 'description' | 'schema'> {
  name: keyof WebhookChanges
  /** @returns undefined if the parameter is absent */
  read(parameters: Parameters, name: string, subject: Subject): unknown
  isRequired(subject: Pick<Subject, 'operation' | 'serviceType'>): boolean
}

const always = (): boolean => true
const never = (): boolean => false
const CONTENT_TYPES = ['application/json', 'application/x-www-form-urlencoded']
const PAYLOAD_FORMATS = ['json', 'pjson']

const WEBHOOK_PARAMETERS: readonly Parameter[] = [
  {
    name: 'name',
    description: 'The name of the webhook, unique within its service.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_NAME },
    read: text(MAX_NAME),
    isRequired: always,
  },
  {
    name: 'changeTypes',
    description:
      'The event triggers: comma-separated, a JSON array, or the parameter repeated. An edit of a feature service webhook requires it.',
    schema: { type: 'string', examples: ['FeaturesCreated,FeaturesUpdated', '["*"]'] },
    read: readChangeTypes,
    isRequired: ({ operation, serviceType }) => operation === 'edit' && serviceType === 'FeatureServer',
  },
  {
    name: 'signatureKey',
    description: 'The shared secret for the signature.',
    schema: { type: 'string', maxLength: MAX_KEY },
    read: text(MAX_KEY),
    isRequired: never,
  },
  {
    name: 'hookUrl',
    description: 'The payload URL.',
    schema: { type: 'string', format: 'uri', pattern: '^[Hh][Tt]{2}[Pp][Ss]?://', maxLength: MAX_URL },
    read: readUrl,
    isRequired: always,
  },
  {
    name: 'active',
    description: 'Whether events are delivered.',
    schema: { type: 'string', enum: ['true', 'false'] },
    read: boolean,
    isRequired: never,
  },
  {
    name: 'contentType',
    description: 'The media type of the payload.',
    schema: { type: 'string', enum: CONTENT_TYPES },
    read: oneOf(CONTENT_TYPES),
    isRequired: never,
  },
  {
    name: 'scheduleInfo',
    description:
      'When a feature service gathers events: a JSON object with all or some of name, state, startAt, recurrenceInfo.',
    schema: { type: 'string', contentMediaType: 'application/json' },
    read: readSchedule,
    isRequired: never,
  },
  {
    name: 'payloadFormat',
    description: 'Whether the payload is indented.',
    schema: { type: 'string', enum: PAYLOAD_FORMATS },
    read: oneOf(PAYLOAD_FORMATS),
    isRequired: never,
  },
]

/** The parameters for the OpenAPI document. A parameter that only some webhooks require is described as optional. */
export const webhookParameters = (operation: Subject['operation']): ParameterDescription[] =>
  WEBHOOK_PARAMETERS.map(({ name, description, schema, isRequired }) => ({
    name,
    required: isRequired({ operation, serviceType: 'GPServer' }),
    description,
    schema,
  }))

/**
 * Requires a name that is unique in its service.
 *
 * @param id id of the edited webhook, which may keep its name
 * @throws {AdminError} 400
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
