import { z } from 'zod'
import { configInvalid } from '../errors.ts'
import { settingsSchema } from './delivery-settings.ts'
import { FREQUENCIES } from './state/webhook.ts'

// What comes as JSON: seeds, snapshots, state files and the bodies of the control API. Each schema is also what the
// OpenAPI document says.

/** A part of a path: no slash, no control characters, no half of a surrogate pair, and none of `.` and `..`. */
const pathPart = z
  .string()
  .max(256)
  .regex(/^(?!\.{1,2}$)[^/\\\p{Cc}\p{Cs}]*$/u, 'must be usable in a path')
const serviceName = pathPart.min(1)
const serviceType = z.enum(['FeatureServer', 'GPServer'])
const time = z.int().min(0).max(8.64e15).meta({ description: 'Milliseconds since 1970' })
const user = z.string().max(256)

/** A payload URL is what is written: the URL parser would drop line breaks, trim white space, and find a host in a path. */
const HOOK_URL = /^https?:\/\/[^\s\p{Cc}/?#\\][^\s\p{Cc}]*$/iu
export const MAX_NAME = 256
export const MAX_KEY = 1024
export const MAX_URL = 2048

export const HOOK_URL_RULE: string = `must be an http or https URL of at most ${MAX_URL} characters, without a user name`

/** User names in a URL are refused: a service has a signature to prove itself, and clients differ in what they make of them. */
export function isHookUrl(text: string): boolean {
  if (text.length > MAX_URL || !HOOK_URL.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

const scheduleMembers = {
  name: z.string().max(MAX_NAME),
  state: z.enum(['enabled', 'disabled']),
  startAt: time,
  recurrenceInfo: z.strictObject({ interval: z.int().min(1).max(1_000_000), frequency: z.enum(FREQUENCIES) }),
}

/** All members of a schedule, or some. */
export const scheduleSchema: z.ZodObject = z.strictObject(scheduleMembers).partial()

export const serviceSchema: z.ZodObject = z.strictObject({
  folderName: pathPart.optional(),
  serviceName,
  serviceType,
})

/** What a path has in the place of an id. */
const WORDS = ['create', 'deleteAll', 'activateAll', 'deactivateAll', 'webhooks']

const PLAIN = 'must have no white space around it, and no control characters'
const isPlain = (text: string): boolean => text === text.trim() && !/\p{Cc}/u.test(text)

export const webhookSchema: z.ZodObject = z.strictObject({
  id: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, - or _')
    .refine((id) => !WORDS.includes(id), 'is the name of an operation')
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
})

const failureSchema = z.strictObject({ webhookId: z.string().max(64), times: z.array(time).max(1000) })

/** What a snapshot, a seed file and a state file hold. */
export const snapshotSchema: z.ZodObject = z.strictObject({
  services: z.array(serviceSchema).optional(),
  webhooks: z.array(webhookSchema).optional(),
  settings: settingsSchema.partial().optional(),
  failures: z.array(failureSchema).optional(),
})

const LISTS = { services: serviceSchema, webhooks: webhookSchema, failures: failureSchema }
const anyLists = z.strictObject({
  services: z.array(z.unknown()).optional(),
  webhooks: z.array(z.unknown()).optional(),
  settings: settingsSchema.partial().optional(),
  failures: z.array(z.unknown()).optional(),
})

/**
 * Checks a snapshot item by item, so that one that is large and wrong is refused at the first.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function checkSnapshot(value: unknown, what: string): void {
  const lists = check<Record<keyof typeof LISTS, unknown[] | undefined>>(anyLists, value, what)
  for (const [name, schema] of Object.entries(LISTS)) {
    const items = lists[name as keyof typeof LISTS] ?? []
    for (const [index, item] of items.entries()) check(schema, item, `${what}.${name}.${index}`)
  }
}

/** Characters. */
export const MAX_CHANGE_TYPE = 256

/** Something that happens on a service. */
export const eventSchema: z.ZodObject = z.strictObject({
  folderName: pathPart.optional(),
  serviceName,
  serviceType: serviceType.optional(),
  changeType: z.string().min(1).max(MAX_CHANGE_TYPE),
  when: time.optional(),
  jobId: z.string().min(1).max(256).optional(),
  taskName: z.string().min(1).max(256).optional(),
  layerIds: z.array(z.int().min(0)).min(1).max(1000).optional(),
})

const MAX_MEMBERS = 100

/**
 * Checks a value that came from outside TypeScript.
 *
 * @throws {WebhookError} `config_invalid`, naming the member, never its value: it may be a key
 */
export function check<T>(schema: z.ZodType, value: unknown, what: string): T {
  // Of each member that is not known an issue would be made.
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    if (Object.keys(value).length > MAX_MEMBERS) throw configInvalid(`${what} has too many members`)
  }
  const result = schema.safeParse(value)
  if (result.success) return result.data as T
  const { path, message } = result.error.issues[0] as z.core.$ZodIssue
  throw configInvalid(`${[what, ...path].map(String).join('.')}: ${message}`)
}
