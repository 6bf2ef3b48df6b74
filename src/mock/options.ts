import { z } from 'zod'
import { configInvalid } from '../errors.ts'
import { arcgis } from '../receiver/profiles.ts'
import type { ChangesUrlEncoding, Dialect } from '../testing/index.ts'
import type { Auth } from './administration/auth.ts'
import { type Clock, systemClock } from './clock.ts'
import type { SignatureOptions } from './delivery/signature-options.ts'
import { check } from './schemas.ts'
import type { ServiceSeed } from './services.ts'
import { DEFAULT_SETTINGS, type DeliverySettings, HOSTED_SETTINGS, settingsSchema } from './settings.ts'
import type { Snapshot } from './snapshot.ts'
import { type ServiceVersion, VERSIONS } from './versions.ts'
import type { WebhookSeed } from './webhook.ts'

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

const HOSTED_SIGNATURE: SignatureOptions = {
  signatureHeader: arcgis.signatureHeader,
  encoding: 'base64',
  prefix: 'sha256=',
}

/** @throws {WebhookError} `config_invalid` */
export function toOptions(options: MockServiceOptions): Options {
  const dialect = oneOf('dialect', ['service', 'hosted', 'organization'], options.dialect ?? 'service')
  const defaults = dialect === 'hosted' ? HOSTED_SETTINGS : DEFAULT_SETTINGS
  const settings = { ...defaults, ...options.settings }
  check(settingsSchema, settings, 'settings')
  return {
    services: options.services ?? [],
    webhooks: options.webhooks ?? [],
    version: oneOf('version', VERSIONS, options.version ?? '11.3'),
    auth: options.auth,
    httpStatus: oneOf('httpStatus', ['rest', 'always200'], options.httpStatus ?? 'rest'),
    omitted: oneOf('omitted', ['keep', 'reset'], options.omitted ?? 'keep'),
    gather: oneOf('gather', ['never', 'scheduled', 'always'], options.gather ?? 'scheduled'),
    settings,
    dialect,
    changesUrl: options.changesUrl,
    fanOut: oneOf('fanOut', ['webhook', 'layer'], options.fanOut ?? 'webhook'),
    signature: { ...(dialect === 'hosted' ? HOSTED_SIGNATURE : {}), ...options.signature },
    concurrency: check<number>(z.int().min(1).max(1000), options.concurrency ?? 50, 'concurrency'),
    allowHosts: options.allowHosts ?? [],
    clock: options.clock ?? systemClock,
    control: options.control ?? true,
    save: options.save,
  }
}

function oneOf<T extends string>(name: string, allowed: readonly T[], value: T): T {
  if (allowed.includes(value)) return value
  throw configInvalid(`${name} must be one of ${allowed.join(', ')}`)
}
