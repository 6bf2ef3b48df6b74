import { AdminError } from '../http/errors.ts'
import { MAX_KEY, MAX_NAME, MAX_URL } from '../schemas.ts'
import type { Service } from '../state/services.ts'
import type { Webhook, WebhookChanges } from '../state/webhook.ts'
import type { ServiceVersion } from '../versions.ts'
import type { Parameters } from './form-fields.ts'
import type { Context, ParameterDescription } from './operation.ts'
import {
  boolean,
  oneOf,
  readChangeTypes,
  readEach,
  readSchedule,
  readUrl,
  required,
  text,
} from './parameter-values.ts'

/** The properties of a request that determine which parameters are required, and which values are valid. */
export interface Subject {
  operation: 'create' | 'edit'
  serviceType: Webhook['serviceType']
  version: ServiceVersion
  /** Shortest window in seconds, at most 60. A shorter one is lengthened. */
  minimumWindowSeconds: number
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
