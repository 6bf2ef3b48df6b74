import type { CaSource, Trust } from '../shared/tls-trust.node.ts'
import type { ChangesUrlEncoding, Dialect } from '../testing/index.ts'
import type { SignerOptions } from '../testing/signer.ts'
import type { Auth } from './admin/tokens.ts'
import type { Clock } from './clock.ts'
import type { DeliverySettings } from './delivery-settings.ts'
import type { ExtractChangesOptions, ResolvedExtractOptions } from './features/extract/options.ts'
import type { ServiceSeed } from './state/services.ts'
import type { Snapshot } from './state/snapshot.ts'
import type { ResolvedWindow, WebhookSeed } from './state/webhooks.ts'
import type { ServiceVersion } from './versions.ts'

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
   * The product to imitate: its name, or an object with the members that differ from it (docs/mock.md, "Products").
   * Default `'service'`, the service of docs/specification.md.
   */
  like?: Product | ProductOptions | undefined
  /** Attempts, timeout, retry gap and deactivation; members left out have their defaults. */
  settings?: Partial<DeliverySettings> | undefined
  /**
   * The part of URLs in payloads before `/services`. Default: the address of the mock followed by `/rest`; of jobs, and
   * while the mock does not listen, an example host.
   */
  serverUrl?: string | undefined
  /** How feature services answer `extractChanges`; members left out have their defaults. */
  extractChanges?: ExtractChangesOptions | undefined
  /** Maximum number of attempts in flight, 1 to 1000. Default 50. */
  concurrency?: number | undefined
  /** Hosts (names or addresses, without a port) that deliveries may go to, in addition to this machine. Default: none. */
  allowHosts?: readonly string[] | undefined
  /**
   * CA certificates to trust for https payload URLs, in addition to those that Node trusts: PEM text, the bytes of a PEM
   * or DER file, or a list of these. A function is called for each new connection, and may return an empty list.
   * Certificates are always checked. Default: none.
   */
  ca?: CaSource | undefined
  /** Default: `createRunningClock()`. */
  clock?: Clock | undefined
  /**
   * Enables the control API under `/_mock/`, and the inspector at `/`. Both require no token. The control API shows
   * keys. The inspector answers only requests from this machine. Default true.
   */
  control?: boolean | undefined
  /** Called with the state after every change. Responses of the administration wait for its promise. */
  save?: ((snapshot: Snapshot) => Promise<void>) | undefined
}

/**
 * A product that a mock service imitates (docs/senders.md, "Three dialects"): the neutral service of
 * docs/specification.md, ArcGIS Enterprise, ArcGIS Online, or the organization webhooks of a portal.
 */
export type Product = 'service' | 'enterprise' | 'online' | 'portal'

/** How a product behaves. Members left out are those of `product`. */
export interface ProductOptions {
  /** Default `'service'`. */
  product?: Product | undefined
  /**
   * Format of payloads and authentication of the sender (docs/senders.md, "Three dialects"): `hosted` signs in base64
   * with a prefix in `x-esriHook-Signature`, and `organization` sends the key itself in the header `secret`.
   */
  dialect?: Dialect | undefined
  /**
   * How deliveries are signed. Members left out are those of the product: hex in the header `x-service` without a prefix,
   * or, for `'enterprise'` and the dialect `hosted`, base64 with the prefix `sha256=` in `x-esriHook-Signature`.
   */
  signature?: SignatureOptions | undefined
  /** Percent-encoding of `changesUrl`. Default: that of the dialect. */
  changesUrl?: ChangesUrlEncoding | undefined
  /** Deliveries for an event on several layers: one per webhook, or one per layer. Default `'webhook'`. */
  fanOut?: 'webhook' | 'layer' | undefined
  /**
   * The change type in events for webhooks that are subscribed to `FeaturesEdited`, but not to the precise change type
   * or to `*`: the precise change, such as `FeaturesCreated`, or `FeaturesEdited`. Default `'precise'`.
   */
  featuresEdited?: 'precise' | 'edited' | undefined
  /**
   * How webhooks of feature services collect events over a window. `false` sends every event at once, as `'portal'`
   * does; members left out are those of the product.
   */
  window?: false | WindowOptions | undefined
  /**
   * Whether receivers must prove that they have the key of a webhook (docs/mock.md, "Handshake"), and milliseconds from
   * one handshake of a webhook to the next, by the service's clock: 60,000 to 604,800,000 (a week), or `true` for
   * 3,600,000. A webhook whose handshake fails gets no deliveries until a later handshake succeeds. Default false, but
   * true for `'online'`.
   */
  handshake?: boolean | number | undefined
  /**
   * What a retry sends: the bytes of the first attempt, to the same URL; or the same payload, written with the webhook's
   * current key, content type and payload URL. Default `'as-sent'`.
   */
  retries?: 'as-sent' | 'signed-again' | undefined
  /** Whether a webhook is active if `create` does not say so. Default true, but false for `'online'`. */
  defaultActive?: boolean | undefined
  /** Whether optional parameters that an edit omits keep their values or get their defaults. Default `'keep'`. */
  omitted?: 'keep' | 'reset' | undefined
  /** HTTP status of administration errors: the error's code, or always 200. Default `'rest'` for `'service'`. */
  httpStatus?: 'rest' | 'always200' | undefined
  /**
   * Format of administration errors: `'messages'` is `{status, messages, code}`, and `'error'` is
   * `{error: {code, message, details}}`, in which 498 and 499 always have the HTTP status 200. Default `'messages'` for
   * `'service'`.
   */
  errorFormat?: 'messages' | 'error' | undefined
  /**
   * How answers of the administration show the keys of webhooks: as they are; not at all (hosted: as an empty text); or
   * as `********` if there is one. With the last two, an edit with an empty key removes the key. Default `'shown'`.
   */
  keys?: 'shown' | 'hidden' | 'masked' | undefined
  /**
   * Whether a POST request of the administration needs its token in the form, so that a token in a header counts as
   * none. Default false, but true for `'enterprise'` below `/admin`.
   */
  tokenInForm?: boolean | undefined
  /**
   * Whether a payload URL must respond with a 2xx status to a status request before a webhook of a service is created or
   * gets this URL. Default false.
   */
  creationCheck?: boolean | undefined
  /**
   * Whether `/rest/info` says that the server belongs to the portal under `/sharing/rest`. Default: true after a sign-in
   * at the portal, and false after one at the server; before any sign-in, true except for `'service'`.
   */
  federated?: boolean | undefined
}

/** Which webhooks of feature services collect events, and for how long. */
export interface WindowOptions {
  /** All of them, or those with a schedule. Default `'scheduled'`, but `'all'` for `'enterprise'` and `'online'`. */
  webhooks?: 'scheduled' | 'all' | undefined
  /**
   * Length of a window in milliseconds, whole seconds up to a day, for webhooks without their own. Default 20,000, or
   * 30,000 for `'online'`.
   */
  length?: number | undefined
  /**
   * Shortest window in milliseconds, whole seconds up to a minute: `create` and `edit` lengthen a shorter one. Default
   * 1,000, or 30,000 for `'online'`.
   */
  minimum?: number | undefined
}

/** How the service signs (docs/specification.md, "Signature"). */
export type SignatureOptions = Pick<
  SignerOptions,
  'signatureHeader' | 'encoding' | 'prefix' | 'signatureIn' | 'percentEncoded' | 'formPayload'
>

/** Options with their defaults; only those in `Absent` can be undefined. */
type Resolved<Options, Absent extends keyof Options> = Pick<Options, Absent> & {
  [name in Exclude<keyof Options, Absent>]-?: NonNullable<Options[name]>
}

/** How a service behaves: that of its product, with the members that the options change. */
export interface Behavior
  extends Omit<Resolved<ProductOptions, 'changesUrl' | 'tokenInForm' | 'federated'>, 'window' | 'handshake'> {
  window: ResolvedWindow
  /** Milliseconds from one handshake of a webhook to the next. */
  handshake: false | number
}

/** The options with their defaults. */
export interface ResolvedOptions
  extends Behavior,
    Omit<
      Resolved<MockServiceOptions, 'auth' | 'save' | 'serverUrl'>,
      'like' | 'ca' | 'settings' | 'extractChanges'
    > {
  settings: DeliverySettings
  trust: Trust | undefined
  extractChanges: ResolvedExtractOptions
}
