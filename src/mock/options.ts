import { z } from 'zod'
import { requireKnownOptions } from '../known-options.ts'
import { arcgis } from '../signature/profiles.ts'
import type { ChangesUrlEncoding, Dialect } from '../testing/index.ts'
import type { SignerOptions } from '../testing/signer.ts'
import type { Auth } from './admin/auth.ts'
import { type Clock, systemClock } from './clock/clock.ts'
import {
  DEFAULT_SETTINGS,
  type DeliverySettings,
  HOSTED_SETTINGS,
  settingsSchema,
} from './delivery-settings.ts'
import {
  type ExtractChangesOptions,
  extractChangesSchema,
  type ResolvedExtractOptions,
  resolveExtractOptions,
} from './features/extract/options.ts'
import { toHostname } from './http/hosts.ts'
import { check, isHookUrl } from './schemas.ts'
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
  /** HTTP status of administration errors: the error's code, or always 200 as on some services. Default `'rest'`. */
  httpStatus?: 'rest' | 'always200' | undefined
  /** Whether optional parameters that an edit omits keep their values or get their defaults. Default `'keep'`. */
  omitted?: 'keep' | 'reset' | undefined
  /** Which webhooks of feature services gather events over a window. Default: those with a schedule. */
  gather?: 'never' | 'scheduled' | 'always' | undefined
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
  /**
   * The part of URLs in payloads before `/services`. Default: the address of the mock followed by `/rest`; of jobs, and
   * while the mock does not listen, an example host.
   */
  serverUrl?: string | undefined
  /** Deliveries for an event on several layers: one per webhook, or one per layer. Default `'webhook'`. */
  fanOut?: 'webhook' | 'layer' | undefined
  /** How feature services answer `extractChanges`; members left out have their defaults. */
  extractChanges?: ExtractChangesOptions | undefined
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

/** How the service signs (docs/specification.md, "Signature"). */
export type SignatureOptions = Pick<
  SignerOptions,
  'signatureHeader' | 'encoding' | 'prefix' | 'signatureIn' | 'percentEncoded' | 'formPayload'
>

/** The options with their defaults. */
export type ResolvedOptions = {
  [name in keyof Omit<MockServiceOptions, 'settings' | 'extractChanges' | WithoutDefault>]-?: NonNullable<
    MockServiceOptions[name]
  >
} & Pick<MockServiceOptions, WithoutDefault> & {
    settings: DeliverySettings
    extractChanges: ResolvedExtractOptions
  }

type WithoutDefault = 'auth' | 'save' | 'changesUrl' | 'serverUrl'

/** Hosted services sign forms in their last field, and JSON in a header (docs/senders.md, "Signature"). */
const HOSTED_SIGNATURE: SignatureOptions = {
  signatureHeader: arcgis.signatureHeader,
  encoding: 'base64',
  prefix: 'sha256=',
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

const host = z.string().refine((name) => toHostname(name) !== undefined, 'must be a host, without a port')

const optionsSchema = z.strictObject({
  // `restoreSnapshot` checks the items one by one.
  services: z.array(z.unknown()).default([]),
  webhooks: z.array(z.unknown()).default([]),
  version: z.enum(VERSIONS).default('11.3'),
  auth: withMethods<Auth>('authenticate').optional(),
  httpStatus: z.enum(['rest', 'always200']).default('rest'),
  omitted: z.enum(['keep', 'reset']).default('keep'),
  gather: z.enum(['never', 'scheduled', 'always']).default('scheduled'),
  settings: settingsSchema.partial().default({}),
  dialect: z.enum(['service', 'hosted', 'organization']).default('service'),
  changesUrl: z.enum(['partial', 'whole', 'none']).optional(),
  serverUrl: z
    .string()
    .refine((url) => isHookUrl(url) && !/[?#]/.test(url), 'must be an http or https URL, without a query')
    .optional(),
  fanOut: z.enum(['webhook', 'layer']).default('webhook'),
  extractChanges: extractChangesSchema.default({}),
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
  const options = check<ResolvedOptions>(optionsSchema, given, 'options')
  const isHosted = options.dialect === 'hosted'
  return {
    ...options,
    settings: { ...(isHosted ? HOSTED_SETTINGS : DEFAULT_SETTINGS), ...withoutUndefined(options.settings) },
    extractChanges: resolveExtractOptions(given.extractChanges ?? {}, isHosted),
    signature: { ...(isHosted ? HOSTED_SIGNATURE : {}), ...withoutUndefined(options.signature) },
  }
}
