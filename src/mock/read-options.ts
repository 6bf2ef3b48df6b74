import { z } from 'zod'
import { requireKnownOptions } from '../options.ts'
import { type CaCertificates, type CaSource, createTrust, INVALID, toPems } from '../shared/tls-trust.node.ts'
import { arcgis } from '../signature/profiles.ts'
import type { Auth } from './admin/tokens.ts'
import { type Clock, createRunningClock } from './clock.ts'
import { DEFAULT_SETTINGS, HOSTED_SETTINGS, settingsSchema } from './delivery-settings.ts'
import { extractChangesSchema } from './features/extract/options.ts'
import { toHostname } from './http/server.ts'
import type {
  Behavior,
  MockServiceOptions,
  Product,
  ProductOptions,
  ResolvedOptions,
  SignatureOptions,
} from './options.ts'
import { check, isHookUrl, withoutUndefined } from './schemas.ts'
import type { ResolvedWindow } from './state/webhooks.ts'
import { VERSIONS } from './versions.ts'

type Preset = Omit<Behavior, 'product' | 'signature'>

const SERVICE: Preset = {
  dialect: 'service',
  fanOut: 'webhook',
  featuresEdited: 'precise',
  window: { webhooks: 'scheduled', length: 20_000, minimum: 1_000 },
  handshake: false,
  retries: 'as-sent',
  defaultActive: true,
  omitted: 'keep',
  httpStatus: 'rest',
  errorFormat: 'messages',
  keys: 'shown',
  creationCheck: false,
}

/** The vendor's clients lose the messages of other error formats, and of other HTTP statuses. */
const READABLE_ERRORS = { errorFormat: 'error', httpStatus: 'always200' } as const

/** How often real services repeat the handshake is unknown (docs/decisions.md). */
const EVERY_HOUR = 3_600_000

const PRODUCTS: Readonly<Record<Product, Preset>> = {
  service: SERVICE,
  enterprise: { ...SERVICE, ...READABLE_ERRORS, window: { ...SERVICE.window, webhooks: 'all' } },
  online: {
    ...SERVICE,
    ...READABLE_ERRORS,
    dialect: 'hosted',
    window: { webhooks: 'all', length: 30_000, minimum: 30_000 },
    handshake: EVERY_HOUR,
    defaultActive: false,
  },
  portal: {
    ...SERVICE,
    ...READABLE_ERRORS,
    dialect: 'organization',
    window: { ...SERVICE.window, webhooks: 'none' },
  },
}

/** The header and the encoding that the vendor's published sample receivers verify. */
const ARCGIS_SIGNATURE: SignatureOptions = {
  signatureHeader: arcgis.signatureHeader,
  encoding: 'base64',
  prefix: 'sha256=',
}

/** Hosted services sign forms in their last field, and JSON in a header (docs/senders.md, "Signature"). */
const HOSTED_SIGNATURE: SignatureOptions = {
  ...ARCGIS_SIGNATURE,
  signatureIn: 'field',
  formPayload: 'plain',
}

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

const wholeSeconds = (maximum: number) => z.int().min(1_000).max(maximum).multipleOf(1_000)

const productSchema = z.enum(Object.keys(PRODUCTS) as [Product, ...Product[]])
const behaviorSchema = z.strictObject({
  product: productSchema.optional(),
  dialect: z.enum(['service', 'hosted', 'organization']).optional(),
  signature: signatureSchema.partial().optional(),
  changesUrl: z.enum(['partial', 'whole', 'none']).optional(),
  fanOut: z.enum(['webhook', 'layer']).optional(),
  featuresEdited: z.enum(['precise', 'edited']).optional(),
  window: z
    .union([
      z.literal(false),
      z.strictObject({
        webhooks: z.enum(['scheduled', 'all']).optional(),
        length: wholeSeconds(86_400_000).optional(),
        minimum: wholeSeconds(60_000).optional(),
      }),
    ])
    .optional(),
  handshake: z
    .union(
      [z.boolean(), z.int().min(60_000).max(604_800_000)],
      'must be true, false or milliseconds from 60000 to 604800000',
    )
    .optional(),
  retries: z.enum(['as-sent', 'signed-again']).optional(),
  defaultActive: z.boolean().optional(),
  omitted: z.enum(['keep', 'reset']).optional(),
  httpStatus: z.enum(['rest', 'always200']).optional(),
  errorFormat: z.enum(['messages', 'error']).optional(),
  keys: z.enum(['shown', 'hidden', 'masked']).optional(),
  tokenInForm: z.boolean().optional(),
  creationCheck: z.boolean().optional(),
  federated: z.boolean().optional(),
})

const optionsSchema = z.strictObject({
  // `restoreSnapshot` checks the items one by one.
  services: z.array(z.unknown()).default([]),
  webhooks: z.array(z.unknown()).default([]),
  version: z.enum(VERSIONS).default('11.3'),
  auth: withMethods<Auth>('authenticate').optional(),
  like: z.unknown().optional(), // `toBehavior` checks it
  settings: settingsSchema.partial().default({}),
  serverUrl: z
    .string()
    .refine((url) => isHookUrl(url) && !/[?#]/.test(url), 'must be an http or https URL, without a query')
    .optional(),
  extractChanges: extractChangesSchema.prefault({}),
  concurrency: z.int().min(1).max(1000).default(50),
  allowHosts: z.array(host).default([]),
  ca: ca.optional(),
  clock: withMethods<Clock>('now', 'wait').default(() => createRunningClock()),
  control: z.boolean().default(true),
  save: z
    .custom<MockServiceOptions['save']>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})

function toBehavior(like: MockServiceOptions['like'] = 'service'): Behavior {
  if (typeof like !== 'object')
    return toBehavior({ product: check<Product>(productSchema, like, 'options.like') })
  requireKnownOptions(like, behaviorSchema.shape, 'like option')
  const given = withoutUndefined(check<ProductOptions>(behaviorSchema, like, 'options.like'))
  const { product = 'service', window, signature, ...changes } = given
  const preset = PRODUCTS[product]
  const handshake = given.handshake ?? preset.handshake
  const behavior = { product, ...preset, ...changes }
  return {
    ...behavior,
    window: toWindow(preset.window, window),
    handshake: handshake === true ? EVERY_HOUR : handshake,
    signature: { ...signatureOf(behavior), ...withoutUndefined(signature ?? {}) },
  }
}

function toWindow(preset: ResolvedWindow, given: ProductOptions['window']): ResolvedWindow {
  if (given === undefined) return preset
  if (given === false) return { ...preset, webhooks: 'none' }
  const webhooks = preset.webhooks === 'none' ? 'scheduled' : preset.webhooks
  return { ...preset, webhooks, ...withoutUndefined(given) } as ResolvedWindow
}

function signatureOf({ product, dialect }: Pick<Behavior, 'product' | 'dialect'>): SignatureOptions {
  if (dialect === 'hosted') return HOSTED_SIGNATURE
  return product === 'enterprise' ? ARCGIS_SIGNATURE : {}
}

/**
 * Checks options, and adds defaults.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function toOptions(given: MockServiceOptions): ResolvedOptions {
  requireKnownOptions(given, optionsSchema.shape)
  const { ca, like, ...options } = check<ResolvedOptions & Pick<MockServiceOptions, 'ca' | 'like'>>(
    optionsSchema,
    given,
    'options',
  )
  const behavior = toBehavior(like)
  const isHosted = behavior.dialect === 'hosted'
  return {
    ...options,
    ...behavior,
    trust: ca === undefined ? undefined : createTrust(ca),
    extractChanges: {
      ...options.extractChanges,
      redirect: given.extractChanges?.redirect ?? isHosted,
    },
    settings: { ...(isHosted ? HOSTED_SETTINGS : DEFAULT_SETTINGS), ...withoutUndefined(options.settings) },
  }
}
