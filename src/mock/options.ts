import type { CaSource, Trust } from '../shared/tls-trust.node.ts'
import type { ChangesUrlEncoding, Dialect } from '../testing/index.ts'
import type { Auth } from './admin/tokens.ts'
import type { Clock } from './clock.ts'
import type { DeliverySettings } from './delivery-settings.ts'
import type { ExtractChangesOptions, ResolvedExtractOptions } from './features/extract/options.ts'
import type { Like, SignatureOptions } from './presets.ts'
import type { ServiceSeed } from './state/services.ts'
import type { Snapshot } from './state/snapshot.ts'
import type { WebhookSeed } from './state/webhooks.ts'
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
   * at the portal, and false after one at the server; before any sign-in, true except for `like: 'service'`.
   */
  federated?: boolean | undefined
  /** Whether a webhook is active if `create` does not say so. Default true, but false for `like: 'online'`. */
  defaultActive?: boolean | undefined
  /** Whether optional parameters that an edit omits keep their values or get their defaults. Default `'keep'`. */
  omitted?: 'keep' | 'reset' | undefined
  /**
   * Which webhooks of feature services collect events over a window. Default `'scheduled'`, those with a schedule;
   * `'always'` for `like: 'enterprise'` and `'online'`, `'never'` for `'portal'`.
   */
  gather?: 'never' | 'scheduled' | 'always' | undefined
  /** Length of a window in seconds, 1 to 86,400, for webhooks without their own. Default 20, or 30 for `like: 'online'`. */
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
  /**
   * The part of URLs in payloads before `/services`. Default: the address of the mock followed by `/rest`; of jobs, and
   * while the mock does not listen, an example host.
   */
  serverUrl?: string | undefined
  /** Deliveries for an event on several layers: one per webhook, or one per layer. Default `'webhook'`. */
  fanOut?: 'webhook' | 'layer' | undefined
  /**
   * The change type in events for webhooks that are subscribed to `FeaturesEdited`, but not to the precise change type
   * or to `*`: the precise change, such as `FeaturesCreated`, or `FeaturesEdited`. Default `'precise'`.
   */
  featuresEdited?: 'precise' | 'edited' | undefined
  /**
   * Whether receivers must prove that they have the key of a webhook (docs/mock.md, "Handshake"), and how often. A
   * webhook whose handshake fails gets no deliveries until a later handshake succeeds. Default false, but true for
   * `like: 'online'`.
   */
  handshake?: boolean | HandshakeOptions | undefined
  /** How feature services answer `extractChanges`; members left out have their defaults. */
  extractChanges?: ExtractChangesOptions | undefined
  /**
   * How deliveries are signed. Default: hex in the header `x-service`, without a prefix. For `like: 'enterprise'` and the
   * dialect `hosted`: base64 with the prefix `sha256=` in `x-esriHook-Signature`.
   */
  signature?: SignatureOptions | undefined
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

/** How often handshakes are repeated. */
export interface HandshakeOptions {
  /** Minutes from one handshake of a webhook to the next, by the service's clock; 1 to 10,080 (a week). Default 60. */
  every?: number | undefined
}

/** The options with their defaults. */
export type ResolvedOptions = {
  [name in keyof Omit<
    MockServiceOptions,
    'settings' | 'handshake' | 'ca' | 'extractChanges' | WithoutDefault
  >]-?: NonNullable<MockServiceOptions[name]>
} & Pick<MockServiceOptions, WithoutDefault> & {
    settings: DeliverySettings
    handshake: false | { every: number }
    trust: Trust | undefined
    extractChanges: ResolvedExtractOptions
  }

type WithoutDefault = 'auth' | 'save' | 'changesUrl' | 'federated' | 'serverUrl'
