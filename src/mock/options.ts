import { z } from 'zod'
import { arcgis } from '../receiver/profiles.ts'
import type { ChangesUrlEncoding, Dialect } from '../testing/index.ts'
import type { Auth } from './admin/auth.ts'
import { type Clock, systemClock } from './clock.ts'
import type { SignatureOptions } from './delivery/signature-options.ts'
import {
  DEFAULT_SETTINGS,
  type DeliverySettings,
  HOSTED_SETTINGS,
  settingsSchema,
} from './delivery-settings.ts'
import { check } from './schemas.ts'
import type { ServiceSeed } from './state/services.ts'
import type { Snapshot } from './state/snapshot.ts'
import type { WebhookSeed } from './state/webhook.ts'
import { type ServiceVersion, VERSIONS } from './versions.ts'
import { defined } from './without-undefined.ts'

/** What {@link createMockService} takes. */
export interface MockServiceOptions {
  /** Services without webhooks yet; those that `webhooks` name are there anyway. */
  services?: readonly ServiceSeed[] | undefined
  webhooks?: readonly WebhookSeed[] | undefined
  /** What the service can do (specification, "Versioning"). Default `'11.3'`. */
  version?: ServiceVersion | undefined
  /** Who may administer webhooks. Default: anyone. */
  auth?: Auth | undefined
  /** Whether errors of the administration have their code as HTTP status, or 200 as in the family. Default `'rest'`. */
  httpStatus?: 'rest' | 'always200' | undefined
  /** What an edit does with optional parameters that it is not given. Default `'keep'`. */
  omitted?: 'keep' | 'reset' | undefined
  /** Which feature service webhooks gather events over their schedule's window. Default: those that were given a schedule. */
  gather?: 'never' | 'scheduled' | 'always' | undefined
  /** Attempts, time-out, gap and switching off; members that are not given have their defaults. */
  settings?: Partial<DeliverySettings> | undefined
  /**
   * The form of payloads (docs: field facts). `hosted` and `organization` also bring their ways to prove the sender:
   * a base64 signature with a prefix in `x-esriHook-Signature`, and the key itself in the header `secret`.
   * Default `'service'`, the specification's.
   */
  dialect?: Dialect | undefined
  /** How `changesUrl` is percent-encoded. Default: as the dialect does. */
  changesUrl?: ChangesUrlEncoding | undefined
  /** Whether an event on several layers is one delivery, or one for each layer. Default `'webhook'`, one. */
  fanOut?: 'webhook' | 'layer' | undefined
  /** How deliveries are signed. Default: hex in the header `x-service`, without a prefix; hosted as said above. */
  signature?: SignatureOptions | undefined
  /** Attempts on the wire at once, 1 to 1000. Default 50. */
  concurrency?: number | undefined
  /** Hosts (names or addresses, without a port) that deliveries may go to beside this machine. Default: none. */
  allowHosts?: readonly string[] | undefined
  /** Default: the machine's clock. */
  clock?: Clock | undefined
  /** Whether the control API is there, under `/_mock/`; it needs no token, and shows keys. Default true. */
  control?: boolean | undefined
  /** Called after every change; the answers of the administration wait for it. */
  save?: ((snapshot: Snapshot) => Promise<void>) | undefined
}

/** The options with their defaults. */
export type Options = {
  [name in keyof Omit<MockServiceOptions, 'settings' | Optional>]-?: NonNullable<MockServiceOptions[name]>
} & Pick<MockServiceOptions, Optional> & { settings: DeliverySettings }

/** What has no default. */
type Optional = 'auth' | 'save' | 'changesUrl'

/** As such senders write it, in a header or at the end of a form (field facts, "Signature"). */
const HOSTED_SIGNATURE: SignatureOptions = {
  signatureHeader: arcgis.signatureHeader,
  encoding: 'base64',
  prefix: 'sha256=',
  signatureIn: 'field',
  formPayload: 'plain',
}

/** A signature in one of these would break the request. */
const TAKEN =
  /^(host|connection|content-(length|type|encoding)|transfer-encoding|expect|upgrade|keep-alive)$/i

const signatureSchema = z.strictObject({
  signatureHeader: z.string().refine((name) => !TAKEN.test(name), 'is a header of the request'),
  encoding: z.enum(['hex', 'base64']),
  prefix: z.string(),
  signatureIn: z.enum(['header', 'field']),
  percentEncoded: z.boolean(),
  formPayload: z.enum(['encoded', 'plain']),
})

/** An object of the caller's own, passed on as it is. */
const withFunctions = <T>(...names: string[]): z.ZodType<T> =>
  z.custom<T>(
    (value) => names.every((name) => typeof (value as Record<string, unknown> | null)?.[name] === 'function'),
    `must have ${names.join(' and ')}`,
  )

/** A host as URLs write it, without a port. */
const host = z.string().refine((name) => {
  const url = `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}`
  return /^[^/?#@\\\s]+$/.test(name) && URL.canParse(url) && new URL(url).port === ''
}, 'must be a host, without a port')

const optionsSchema = z.strictObject({
  // Checked item by item, as a snapshot.
  services: z.array(z.unknown()).default([]),
  webhooks: z.array(z.unknown()).default([]),
  version: z.enum(VERSIONS).default('11.3'),
  auth: withFunctions<Auth>('authenticate').optional(),
  httpStatus: z.enum(['rest', 'always200']).default('rest'),
  omitted: z.enum(['keep', 'reset']).default('keep'),
  gather: z.enum(['never', 'scheduled', 'always']).default('scheduled'),
  settings: settingsSchema.partial().default({}),
  dialect: z.enum(['service', 'hosted', 'organization']).default('service'),
  changesUrl: z.enum(['partial', 'whole', 'none']).optional(),
  fanOut: z.enum(['webhook', 'layer']).default('webhook'),
  signature: signatureSchema.partial().default({}),
  concurrency: z.int().min(1).max(1000).default(50),
  allowHosts: z.array(host).default([]),
  clock: withFunctions<Clock>('now', 'wait').default(systemClock),
  control: z.boolean().default(true),
  save: z
    .custom<MockServiceOptions['save']>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})

/** @throws {WebhookError} `config_invalid` */
export function toOptions(given: MockServiceOptions): Options {
  const options = check<Options>(optionsSchema, given, 'options')
  const isHosted = options.dialect === 'hosted'
  return {
    ...options,
    settings: { ...(isHosted ? HOSTED_SETTINGS : DEFAULT_SETTINGS), ...defined(options.settings) },
    signature: { ...(isHosted ? HOSTED_SIGNATURE : {}), ...defined(options.signature) },
  }
}
