import { z } from 'zod'
import { requireKnownOptions } from '../known-options.ts'
import type { ChangesUrlEncoding, Dialect } from '../testing/index.ts'
import type { Auth } from './admin/auth.ts'
import { type Clock, systemClock } from './clock/clock.ts'
import { type DeliverySettings, settingsSchema } from './delivery-settings.ts'
import { toHostname } from './http/hosts.ts'
import { type Like, PRESETS, type SignatureOptions, settingsDefaults, signatureDefaults } from './presets.ts'
import { check } from './schemas.ts'
import type { ServiceSeed } from './state/services.ts'
import type { Snapshot } from './state/snapshot.ts'
import type { WebhookSeed } from './state/webhook.ts'
import { type ServiceVersion, VERSIONS } from './versions.ts'
import { withoutUndefined } from './without-undefined.ts'

/** Options of {@link createMockService}. */
export interface MockServiceOptions {
  /** Services in addition to those that `webhooks` name. */
  services?: readonly ServiceSeed[] | undefined
  webhooks?: readonly WebhookSeed[] | undefined
  /** Version of the service (docs/specification.md, "Versions"). Default `'11.3'`. */
  version?: ServiceVersion | undefined
  /** Users who may administer webhooks. Default: anyone. */
  auth?: Auth | undefined
  /**
   * The product to imitate: `'enterprise'` and `'online'` are ArcGIS Enterprise and ArcGIS Online, `'portal'` is for
   * organization webhooks. It sets the defaults of other options (docs/mock.md, "Products"). Default `'service'`, the
   * service of docs/specification.md.
   */
  like?: Like | undefined
  /** HTTP status of administration errors: the error's code, or always 200. Default `'rest'` for `like: 'service'`. */
  httpStatus?: 'rest' | 'always200' | undefined
  /**
   * Format of administration errors: `'messages'` is `{status, messages, code}`, and `'error'` is
   * `{error: {code, message, details}}`, in which 498 and 499 always have the HTTP status 200. Default `'messages'` for
   * `like: 'service'`.
   */
  errorFormat?: 'messages' | 'error' | undefined
  /**
   * Whether `/rest/info` says that the server belongs to the portal under `/sharing/rest`. Default: true after a sign-in
   * at the portal, and false after one at the server.
   */
  federated?: boolean | undefined
  /** Whether a webhook is active if `create` does not say so. Default true, but false for `like: 'online'`. */
  defaultActive?: boolean | undefined
  /** Whether optional parameters that an edit omits keep their values or get their defaults. Default `'keep'`. */
  omitted?: 'keep' | 'reset' | undefined
  /** Which webhooks of feature services gather events over a window. Default: those with a schedule. */
  gather?: 'never' | 'scheduled' | 'always' | undefined
  /** Length of a window in seconds if the webhook does not say it, 1 to 86,400. Default 20, or 30 for `like: 'online'`. */
  windowSeconds?: number | undefined
  /** Shortest window in seconds, 1 to 60: `create` and `edit` lengthen a shorter one. Default 1, or 30 for `like: 'online'`. */
  minimumWindowSeconds?: number | undefined
  /** Attempts, timeout, retry gap and deactivation; members left out have their defaults. */
  settings?: Partial<DeliverySettings> | undefined
  /**
   * Format of payloads and authentication of the sender (docs/senders.md, "Three dialects"): `hosted` signs in base64
   * with a prefix in `x-esriHook-Signature`, and `organization` sends the key itself in the header `secret`. Default
   * `'service'`, as in the specification.
   */
  dialect?: Dialect | undefined
  /** Percent-encoding of `changesUrl`. Default: that of the dialect. */
  changesUrl?: ChangesUrlEncoding | undefined
  /** Deliveries for an event on several layers: one per webhook, or one per layer. Default `'webhook'`. */
  fanOut?: 'webhook' | 'layer' | undefined
  /** How deliveries are signed. Default: hex in the header `x-service`, without a prefix; for `hosted`, see `dialect`. */
  signature?: SignatureOptions | undefined
  /** Maximum number of attempts in flight, 1 to 1000. Default 50. */
  concurrency?: number | undefined
  /** Hosts (names or addresses, without a port) that deliveries may go to, in addition to this machine. Default: none. */
  allowHosts?: readonly string[] | undefined
  /** Default: the system clock. */
  clock?: Clock | undefined
  /**
   * Enables the control API under `/_mock/`, and the inspector at `/`. Both require no token. The control API shows
   * keys. The inspector answers only requests from this machine. Default true.
   */
  control?: boolean | undefined
  /** Called with the state after every change. Responses of the administration wait for its promise. */
  save?: ((snapshot: Snapshot) => Promise<void>) | undefined
}

/** The options with their defaults. */
export type ResolvedOptions = {
  [name in keyof Omit<MockServiceOptions, 'settings' | WithoutDefault>]-?: NonNullable<
    MockServiceOptions[name]
  >
} & Pick<MockServiceOptions, WithoutDefault> & { settings: DeliverySettings }

type WithoutDefault = 'auth' | 'save' | 'changesUrl' | 'federated'

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
  fanOut: z.enum(['webhook', 'layer']).default('webhook'),
  signature: signatureSchema.partial().default({}),
  concurrency: z.int().min(1).max(1000).default(50),
  allowHosts: z.array(host).default([]),
  clock: withMethods<Clock>('now', 'wait').default(systemClock),
  control: z.boolean().default(true),
  save: z
    .custom<MockServiceOptions['save']>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})

/** @throws {WebhookError} `config_invalid` */
export function toOptions(given: MockServiceOptions): ResolvedOptions {
  requireKnownOptions(given, optionsSchema.shape)
  const checked = withoutUndefined(check<ResolvedOptions>(optionsSchema, given, 'options'))
  const options = { ...PRESETS[checked.like], ...checked }
  const { like, dialect } = options
  return {
    ...options,
    settings: { ...settingsDefaults(dialect), ...withoutUndefined(options.settings) },
    signature: { ...signatureDefaults(like, dialect), ...withoutUndefined(options.signature) },
  }
}
