import { z } from 'zod'
import { requireKnownOptions } from '../options.ts'
import { type CaCertificates, type CaSource, createTrust, INVALID, toPems } from '../shared/tls-trust.node.ts'
import type { Auth } from './admin/tokens.ts'
import { type Clock, systemClock } from './clock.ts'
import { settingsSchema } from './delivery-settings.ts'
import { extractChangesSchema, resolveExtractOptions } from './features/extract/options.ts'
import { toHostname } from './http/server.ts'
import type { MockServiceOptions, ResolvedOptions } from './options.ts'
import { type Like, PRESETS, settingsDefaults, signatureDefaults } from './presets.ts'
import { check, isHookUrl } from './schemas.ts'
import { VERSIONS } from './versions.ts'
import { withoutUndefined } from './without-undefined.ts'

/** How often real services repeat the handshake is unknown (docs/decisions.md). */
const DEFAULT_MINUTES = 60
const MAX_MINUTES = 7 * 24 * 60

/** Headers that must not be used for the signature, because HTTP needs them. */
const RESERVED_HEADER =
  /^(host|connection|content-(length|type|encoding)|transfer-encoding|expect|upgrade|keep-alive)$/i

const signatureSchema = z.strictObject({
  signatureHeader: z.string().refine((name) => !RESERVED_HEADER.test(name), 'is a header of the request'),
  encoding: z.enum(['hex', 'base64']),
  prefix: z.string(),
  signatureIn: z.enum(['header', 'field']),
  percentEncoded: z.boolean(),
  formPayload: z.enum(['encoded', 'plain']),
})

/** Accepts an object that has these methods, without copying it. */
const withMethods = <T>(...names: string[]): z.ZodType<T> =>
  z.custom<T>(
    (value) => names.every((name) => typeof (value as Record<string, unknown> | null)?.[name] === 'function'),
    `must have ${names.join(' and ')}`,
  )

const ca = z.custom<CaSource>((value) => {
  if (typeof value === 'function') return true
  try {
    toPems(value as CaCertificates)
    return true
  } catch {
    return false
  }
}, INVALID)

const host = z.string().refine((name) => toHostname(name) !== undefined, 'must be a host, without a port')

const optionsSchema = z.strictObject({
  // `restoreSnapshot` checks the items one by one.
  services: z.array(z.unknown()).default([]),
  webhooks: z.array(z.unknown()).default([]),
  version: z.enum(VERSIONS).default('11.3'),
  auth: withMethods<Auth>('authenticate').optional(),
  like: z.enum(Object.keys(PRESETS) as [Like, ...Like[]]).default('service'),
  httpStatus: z.enum(['rest', 'always200']).optional(),
  errorFormat: z.enum(['messages', 'error']).optional(),
  federated: z.boolean().optional(),
  defaultActive: z.boolean().optional(),
  omitted: z.enum(['keep', 'reset']).default('keep'),
  gather: z.enum(['never', 'scheduled', 'always']).optional(),
  windowSeconds: z.int().min(1).max(86_400).optional(),
  minimumWindowSeconds: z.int().min(1).max(60).optional(),
  settings: settingsSchema.partial().default({}),
  dialect: z.enum(['service', 'hosted', 'organization']).optional(),
  changesUrl: z.enum(['partial', 'whole', 'none']).optional(),
  serverUrl: z
    .string()
    .refine((url) => isHookUrl(url) && !/[?#]/.test(url), 'must be an http or https URL, without a query')
    .optional(),
  fanOut: z.enum(['webhook', 'layer']).default('webhook'),
  featuresEdited: z.enum(['precise', 'edited']).default('precise'),
  handshake: z
    .union([z.boolean(), z.strictObject({ every: z.int().min(1).max(MAX_MINUTES).default(DEFAULT_MINUTES) })])
    .optional(),
  extractChanges: extractChangesSchema.default({}),
  signature: signatureSchema.partial().default({}),
  concurrency: z.int().min(1).max(1000).default(50),
  allowHosts: z.array(host).default([]),
  ca: ca.optional(),
  clock: withMethods<Clock>('now', 'wait').default(systemClock),
  control: z.boolean().default(true),
  save: z
    .custom<MockServiceOptions['save']>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})

/** The options as the schema leaves them. */
type CheckedOptions = Omit<ResolvedOptions, 'handshake' | 'trust'> & {
  handshake: boolean | { every: number }
  ca?: CaSource
}

/**
 * Checks options, and adds defaults.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function toOptions(given: MockServiceOptions): ResolvedOptions {
  requireKnownOptions(given, optionsSchema.shape)
  const checked = withoutUndefined(check<CheckedOptions>(optionsSchema, given, 'options'))
  const { ca, ...options } = { ...PRESETS[checked.like], ...checked }
  const { like, dialect } = options
  return {
    ...options,
    trust: ca === undefined ? undefined : createTrust(ca),
    handshake: options.handshake === true ? { every: DEFAULT_MINUTES } : options.handshake,
    extractChanges: resolveExtractOptions(given.extractChanges ?? {}, dialect === 'hosted'),
    settings: { ...settingsDefaults(dialect), ...withoutUndefined(options.settings) },
    signature: { ...signatureDefaults(like, dialect), ...withoutUndefined(options.signature) },
  }
}
