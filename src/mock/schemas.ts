import { z } from 'zod'
import { configInvalid } from '../errors.ts'
import { settingsSchema } from './settings.ts'
import { FREQUENCIES } from './webhook.ts'

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

/** A payload URL is what is written: the URL parser would drop line breaks and trim white space. */
const HOOK_URL = /^https?:\/\/[^\s\p{Cc}]+$/iu
export const MAX_NAME = 256
export const MAX_KEY = 1024
export const MAX_URL = 2048

export const isHookUrl = (text: string): boolean =>
  text.length <= MAX_URL && HOOK_URL.test(text) && URL.canParse(text)

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

export const webhookSchema: z.ZodObject = z.strictObject({
  id: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, - or _')
    .optional(),
  folderName: pathPart.optional(),
  serviceName,
  serviceType,
  name: z.string().min(1).max(MAX_NAME),
  changeTypes: z.array(z.string().min(1).max(256)).min(1).max(100).optional(),
  signatureKey: z.string().max(MAX_KEY).optional(),
  hookUrl: z.string().refine(isHookUrl, `must be an http or https URL of at most ${MAX_URL} characters`),
  active: z.boolean().optional(),
  contentType: z.enum(['application/json', 'application/x-www-form-urlencoded']).optional(),
  scheduleInfo: scheduleSchema.optional(),
  payloadFormat: z.enum(['json', 'pjson']).optional(),
  created: time.optional(),
  modified: time.optional(),
  ownerId: user.optional(),
  modifiedId: user.optional(),
})

/** What a snapshot, a seed file and a state file hold. */
export const snapshotSchema: z.ZodObject = z.strictObject({
  services: z.array(serviceSchema).optional(),
  webhooks: z.array(webhookSchema).optional(),
  settings: settingsSchema.partial().optional(),
  failures: z.array(z.strictObject({ webhookId: z.string(), times: z.array(time) })).optional(),
})

/** Something that happens on a service. */
export const eventSchema: z.ZodObject = z.strictObject({
  folderName: pathPart.optional(),
  serviceName,
  serviceType: serviceType.optional(),
  changeType: z.string().min(1).max(256),
  when: time.optional(),
  jobId: z.string().min(1).max(256).optional(),
  taskName: z.string().min(1).max(256).optional(),
  layerIds: z.array(z.int().min(0)).min(1).max(1000).optional(),
})

/**
 * Checks a value that came from outside TypeScript.
 *
 * @throws {WebhookError} `config_invalid`, naming the member, never its value: it may be a key
 */
export function check<T>(schema: z.ZodType, value: unknown, what: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data as T
  const { path, message } = result.error.issues[0] as z.core.$ZodIssue
  throw configInvalid(`${[what, ...path].map(String).join('.')}: ${message}`)
}
