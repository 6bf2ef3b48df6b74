import { z } from 'zod'
import { configInvalid } from '../errors.ts'
import { settingsSchema } from './delivery-settings.ts'
import {
  FIELD_TYPES,
  GEOMETRY_TYPES,
  MAX_ATTACHMENT,
  MAX_FEATURES,
  MAX_FIELDS,
  MAX_HISTORY,
  MAX_LAYERS,
} from './features/model.ts'

// Schemas of values that occur in several other schemas.

/** A path segment: no slashes, control characters or lone surrogates, and neither `.` nor `..`. */
const pathPart = z
  .string()
  .max(256)
  .regex(/^(?!\.{1,2}$)[^/\\\p{Cc}\p{Cs}]*$/u, 'must be usable in a path')
const serviceName = pathPart.min(1)
const serviceType = z.enum(['FeatureServer', 'GPServer', 'Portal'])
const time = z.int().min(0).max(8.64e15).meta({ description: 'Milliseconds since 1970' })
const user = z.string().max(256)

/** Copies an object without its `undefined` members, so that spreading the copy does not overwrite defaults. */
export const withoutUndefined = <T extends object>(
  members: T,
): { [name in keyof T]: Exclude<T[name], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof withoutUndefined<T>
  >

const generation = z.int().min(0)
const id = z.int().min(0)
const globalId = z.string().regex(/^\{[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}\}$/)
const name = z.string().min(1).max(256)
const attributes = z.record(name, z.union([z.string(), z.number(), z.null()]))
const geometry = z.record(name, z.unknown())

const fieldSchema = z.strictObject({
  name,
  type: z.enum(FIELD_TYPES),
  alias: z.string().max(256),
  length: z.int().min(1).optional(),
  nullable: z.boolean(),
  editable: z.boolean(),
})

const attachmentSchema = z.strictObject({
  id,
  globalId,
  name: z.string().min(1).max(255),
  contentType: z.string().max(200),
  data: z.base64().max(Math.ceil(MAX_ATTACHMENT / 3) * 4),
})

const featureSchema = z.strictObject({
  objectId: id,
  globalId,
  attributes,
  geometry: geometry.optional(),
  attachments: z.array(attachmentSchema).optional(),
})

const layerSchema = z.strictObject({
  id,
  name,
  geometryType: z.enum(GEOMETRY_TYPES).optional(),
  fields: z.array(fieldSchema).max(MAX_FIELDS + 6),
  systemFields: z.strictObject({
    objectId: name,
    globalId: name,
    creationDate: name,
    creator: name,
    editDate: name,
    editor: name,
  }),
  hasAttachments: z.boolean(),
  spatialReference: z.strictObject({ wkid: z.int().min(1) }),
  nextObjectId: id,
  nextAttachmentId: id,
  features: z.array(featureSchema).max(MAX_FEATURES),
})

const changeSchema = z.strictObject({
  generation,
  when: time,
  layerId: id,
  of: z.enum(['feature', 'attachment']),
  kind: z.enum(['insert', 'update', 'delete']),
  objectId: id,
  globalId,
  attachmentId: id.optional(),
  attachmentGlobalId: globalId.optional(),
  fields: z.array(name).optional(),
  movesGeometry: z.boolean().optional(),
  row: z.strictObject({ attributes, geometry: geometry.optional() }).optional(),
  editor: user,
})

/** The feature data of one service in a snapshot. */
export const serviceDataSchema: z.ZodObject = z.strictObject({
  folderName: pathPart,
  serviceName,
  generation,
  minGeneration: generation,
  layers: z.array(layerSchema).max(MAX_LAYERS),
  changes: z.array(changeSchema).max(MAX_HISTORY * 2),
})

// Schemas of seeds, snapshots, state files and request bodies of the control API. The OpenAPI document includes them.

/** Stricter than the URL parser, which drops line breaks, trims white space, and accepts `http:///host`. */
const HOOK_URL = /^https?:\/\/[^\s\p{Cc}/?#\\][^\s\p{Cc}]*$/iu
export const MAX_NAME = 256
export const MAX_KEY = 1024
export const MAX_URL = 2048

export const HOOK_URL_RULE: string = `must be an http or https URL of at most ${MAX_URL} characters, without a user name`

/** User names in URLs are refused because HTTP clients treat them differently. */
export function isHookUrl(text: string): boolean {
  if (text.length > MAX_URL || !HOOK_URL.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

const scheduleMembers = {
  name: z.string().max(MAX_NAME),
  state: z.enum(['enabled', 'disabled']),
  startAt: time,
  recurrenceInfo: z.strictObject({
    interval: z.int().min(1).max(1_000_000),
    frequency: z.enum(['second', 'minute', 'hour', 'day', 'week', 'month', 'year']),
  }),
}

/** A schedule; all members are optional. */
export const scheduleSchema: z.ZodObject = z.strictObject(scheduleMembers).partial()

/** `config` of a portal's webhook. */
export const portalConfigSchema: z.ZodObject = z.strictObject({
  deactivationPolicy: settingsSchema.pick({ numberOfFailures: true, daysInPast: true }),
  properties: z.record(z.string(), z.unknown()).optional(),
})

export const serviceSchema: z.ZodObject = z.strictObject({
  folderName: pathPart.optional(),
  serviceName,
  serviceType,
})

/** A service to start with. `toLayers` checks the layers. */
const serviceSeedSchema = serviceSchema.extend({ layers: z.array(z.unknown()).optional() })

/** Path segments that would hide a webhook with the same id. */
const RESERVED_IDS = [
  'create',
  'deleteAll',
  'activateAll',
  'deactivateAll',
  'reassignOwner',
  'listServiceWebhooks',
  'webhooks',
]

const PLAIN = 'must have no white space around it, and no control characters'
const isPlain = (text: string): boolean => text === text.trim() && !/\p{Cc}/u.test(text)

export const webhookSchema: z.ZodObject = z.strictObject({
  id: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, - or _')
    .refine((id) => !RESERVED_IDS.includes(id), 'is the name of an operation')
    .optional(),
  folderName: pathPart.optional(),
  serviceName,
  serviceType,
  name: z.string().min(1).max(MAX_NAME).refine(isPlain, PLAIN),
  changeTypes: z.array(z.string().min(1).max(256)).min(1).max(100).optional(),
  signatureKey: z.string().max(MAX_KEY).refine(isPlain, PLAIN).optional(),
  hookUrl: z.string().refine(isHookUrl, HOOK_URL_RULE),
  active: z.boolean().optional(),
  contentType: z.enum(['application/json', 'application/x-www-form-urlencoded']).optional(),
  scheduleInfo: scheduleSchema.optional(),
  payloadFormat: z.enum(['json', 'pjson']).optional(),
  created: time.optional(),
  modified: time.optional(),
  ownerId: user.optional(),
  modifiedId: user.optional(),
  config: portalConfigSchema.optional(),
})

const failureSchema = z.strictObject({ webhookId: z.string().max(64), times: z.array(time).max(1000) })

const handshakeSchema = z.strictObject({
  webhookId: z.string().max(64),
  when: time,
  reason: z.string().min(1).max(256).optional(),
  notSent: z.int().min(1).optional(),
})

const LISTS = {
  services: serviceSeedSchema,
  webhooks: webhookSchema,
  failures: failureSchema,
  handshakes: handshakeSchema,
  featureData: serviceDataSchema,
}

const snapshotOf = (toItem: (schema: z.ZodType) => z.ZodType): z.ZodObject =>
  z.strictObject({
    ...Object.fromEntries(
      Object.entries(LISTS).map(([name, schema]) => [name, z.array(toItem(schema)).optional()]),
    ),
    settings: settingsSchema.partial().optional(),
  })

/** A snapshot, seed file or state file. */
export const snapshotSchema: z.ZodObject = snapshotOf((schema) => schema)
const anyLists = snapshotOf(() => z.unknown())

/**
 * Checks a snapshot item by item, so that a large one is refused at its first error.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function checkSnapshot(value: unknown, name: string): void {
  const lists = check<Record<keyof typeof LISTS, unknown[] | undefined>>(anyLists, value, name)
  for (const [list, schema] of Object.entries(LISTS)) {
    const items = lists[list as keyof typeof LISTS] ?? []
    for (const [index, item] of items.entries()) check(schema, item, `${name}.${list}.${index}`)
  }
}

/** An event to trigger. Whether its service exists is checked later. */
export const eventSchema: z.ZodObject = z.strictObject({
  folderName: z.string().max(256).optional(),
  serviceName: z.string().min(1).max(256),
  serviceType: serviceType.optional(),
  changeType: z.string().min(1).max(256),
  when: time.optional(),
  jobId: z.string().min(1).max(256).optional(),
  taskName: z.string().min(1).max(256).optional(),
  layerIds: z.array(z.int().min(0)).min(1).max(1000).optional(),
})

const MAX_MEMBERS = 100

/**
 * Checks a value at run time.
 *
 * @throws {WebhookError} `config_invalid`; the message names the invalid member, but never shows its value, because it
 *   may be a key
 */
export function check<T>(schema: z.ZodType, value: unknown, name: string): T {
  // Limits the members before zod runs, because zod's message would list every unknown member, however many there are.
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    if (Object.keys(value).length > MAX_MEMBERS) throw configInvalid(`${name} has too many members`)
  }
  const result = schema.safeParse(value)
  if (result.success) return result.data as T
  const { path, message } = result.error.issues[0] as z.core.$ZodIssue
  throw configInvalid(`${[name, ...path].map(String).join('.')}: ${message}`)
}
