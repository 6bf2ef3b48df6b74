import type { Fetch } from '../shared/client.ts'
import type { Json } from '../shared/json.ts'
import type { TokenSource } from '../shared/tokens.ts'

/**
 * A product with webhooks (docs/senders.md, "Administration"): the service of docs/specification.md, ArcGIS Enterprise,
 * ArcGIS Online, or the organization webhooks of a portal.
 */
export type Product = 'service' | 'enterprise' | 'online' | 'portal'

/** Options of {@link createAdmin}. */
export interface AdminOptions {
  /**
   * The address of the administration, or what you have at hand: of the server (`https://gis.example.com/server`), of a
   * feature service, or of a portal. It decides the product, unless `product` does.
   */
  url: string
  /**
   * A token; a function that returns one for the URL of a server or portal; or what {@link signIn} or
   * `@esri/arcgis-rest-request` returns. It is sent only to the origins of `url` and `portal`. Omit it for services
   * without tokens; `undefined` throws `config_invalid`, and is a type error with `exactOptionalPropertyTypes`.
   */
  token?: TokenSource
  /** Default: by `url`. */
  product?: Product | undefined
  /** The address of the portal that the server belongs to, for {@link Admin.listServiceWebhooks}. Default: `url`, if it is a portal. */
  portal?: string | undefined
  /** The referer to which the token is bound. Default: that of {@link signIn}; none for other tokens. */
  referer?: string | undefined
  /**
   * Maximum duration of one request in milliseconds, and of the reading back after a change whose response was lost: 1,000 to
   * 2^31 - 1. Default 60,000.
   */
  timeout?: number | undefined
  /** A function that sends the requests, for example through a proxy. Default: the global `fetch`. */
  fetch?: Fetch | undefined
}

/** When a feature service sends the events that it has gathered (docs/specification.md, "Schedule"). */
export interface Schedule {
  name?: string
  state?: 'enabled' | 'disabled'
  /** Milliseconds since 1970. */
  startAt?: number
  recurrenceInfo?: {
    interval: number
    frequency: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'
  }
}

/** A portal deactivates a webhook after this number of failed deliveries within this number of days. */
export interface Deactivation {
  numberOfFailures: number
  daysInPast: number
}

/**
 * What all webhooks have. A member that the product lacks is missing; a member that the service does not show is
 * `undefined`. `JSON.stringify` and `console.log` show neither the key nor the secret parts of the payload URL.
 */
interface CommonWebhook {
  id: string
  name: string
  /** The service, written `[folder/]<name>.<type>`; empty for webhooks of a portal. */
  service: string
  /** Exactly as it is stored. If a portal's webhook starts a notebook, the portal itself has chosen the URL. */
  hookUrl: string | undefined
  /** Without duplicates. Every event is `['*']`, however the product writes it. */
  changeTypes: readonly string[] | undefined
  active: boolean | undefined
  /** Empty if the webhook has none; `undefined` if the service does not show it. */
  key: string | undefined
  created: Date | undefined
  modified: Date | undefined
  owner: string | undefined
  /** The response of the service, with the key as the service shows it. */
  raw: Json
}

/** A webhook of a geoprocessing or feature service. Those of geoprocessing services have no `schedule`. */
export interface ServiceWebhook extends CommonWebhook {
  product: 'service' | 'enterprise' | 'online'
  contentType: string | undefined
  payloadFormat: string | undefined
  schedule?: Schedule | undefined
}

/** A webhook of a portal. Its change types are operations such as `/items/add`, and its key is sent as a header. */
export interface PortalWebhook extends CommonWebhook {
  product: 'portal'
  deactivation: Deactivation | undefined
  /** What else `config` holds, for example the notebook that the webhook starts. */
  properties: Json | undefined
}

/** A webhook of any product; `product` says which. */
export type Webhook = ServiceWebhook | PortalWebhook

/** The members that an edit can set. Those left out keep their values. */
export interface WebhookChanges {
  name?: string
  /** http or https. It is sent as it is written. */
  hookUrl?: string
  /** Every event is `['*']`. */
  changeTypes?: readonly string[]
  /** Empty removes the key. */
  key?: string
  active?: boolean
  /** Not for a portal. */
  contentType?: string
  /** Not for a portal. */
  payloadFormat?: string
  /** For feature services. Members left out keep their values. */
  schedule?: Schedule
  /** For a portal. */
  deactivation?: Deactivation
  /** For a portal. */
  properties?: Json
}

/** A webhook to create. */
export type NewWebhook = WebhookChanges & { name: string; hookUrl: string }

/** Name of a member of a webhook that can be set. */
export type Member = keyof WebhookChanges

/** A member whose stored value is not the requested one. Secrets in both texts are hidden. */
export interface Difference {
  member: Member
  requested: string
  stored: string
}

/** What a change of a webhook led to. The webhook was read again after the change. */
export interface ChangeResult {
  webhook: Webhook
  /** Members that are not as before. */
  changed: readonly Member[]
  /** Members that the service has stored in another form, such as an interval that it raised to its minimum. */
  adjusted: readonly Difference[]
  /**
   * Members that the service does not show; at ArcGIS Online also `schedule`, because it does not show `startAt`. Whether
   * they are as requested or as before is unknown.
   */
  notCompared: readonly Member[]
}

/** A recorded delivery. All but a portal record only those that failed. */
export interface RecordedDelivery {
  at: Date
  isDelivered: boolean
  /** The receiver's response, or the error. Only some products record it. */
  response?: string
}

/** How a product delivers. A member that the product lacks is missing. */
export interface DeliverySettings {
  /** Attempts for one delivery. */
  attempts?: number
  /** Timeout of an attempt in seconds. */
  timeoutInSeconds?: number
  /** Seconds between two attempts. */
  pauseInSeconds?: number
  /** A webhook is deactivated after this number of failed deliveries … */
  numberOfFailures?: number
  /** … within this number of days; in a row if the member is missing. */
  daysInPast?: number
}

/**
 * The webhooks of a service or of a portal. Methods take an id or, if no id matches, a name; or a webhook that was read.
 * If you pass a webhook that another client has changed since you read it, `edit`, `delete`, `activate` and `deactivate`
 * throw `admin_conflict`, and change nothing.
 *
 * Every method throws a `WebhookError`: `admin_unauthorized`, `admin_forbidden`, `admin_not_found`, `admin_refused` (by
 * the service), `admin_unsupported` (by the product), `admin_malformed` (not a response of such a service) or
 * `admin_unavailable`. Those that name a webhook also throw `admin_ambiguous` (several have the name). Those that change
 * something also throw `admin_unknown` (the response was lost, and it could not be found out whether the change was made;
 * or the change was accepted, but the webhook could not be read again).
 */
export interface Webhooks {
  /** Lists them all; of a portal, page by page. */
  list(): AsyncIterable<Webhook>
  /** Reads one webhook. */
  get(webhook: string | Webhook): Promise<Webhook>
  /**
   * Creates a webhook. Without `changeTypes`, every event triggers it. The service decides about other members left out.
   *
   * @throws {WebhookError} also `admin_conflict` if the name is taken, `admin_not_applied`, `config_invalid`
   */
  create(webhook: NewWebhook): Promise<ChangeResult>
  /**
   * Changes a webhook without losing the other members: reads it, sends every member that the service shows or that is
   * given, reads it again, and compares. What another client writes between the first read and the change is overwritten.
   *
   * @throws {WebhookError} also `admin_conflict` if another client has changed the webhook right after this edit;
   *   `admin_not_applied` if members are not as requested; `config_invalid`, also if the service does not show the key and
   *   `key` is not given
   */
  edit(webhook: string | Webhook, changes: WebhookChanges): Promise<ChangeResult>
  /** Deletes a webhook for good. */
  delete(webhook: string | Webhook): Promise<void>
  /** Activates a webhook. Except at a portal, this is an {@link edit}. @param options the key, if it is not shown */
  activate(webhook: string | Webhook, options?: { key?: string }): Promise<ChangeResult>
  /** Deactivates a webhook. Except at a portal, this is an {@link edit}. @param options the key, if it is not shown */
  deactivate(webhook: string | Webhook, options?: { key?: string }): Promise<ChangeResult>
  /** Deletes all webhooks of the service or portal for good. */
  deleteAll(): Promise<void>
  /** Activates all webhooks of the service or portal. */
  activateAll(): Promise<void>
  /** Deactivates all webhooks of the service or portal. */
  deactivateAll(): Promise<void>
  /** Lists the failed deliveries of a webhook that the service has recorded; of a portal, all of them. */
  failures(webhook: string | Webhook): Promise<RecordedDelivery[]>
}

/** The administration of webhooks. See {@link createAdmin}. */
export interface Admin {
  readonly product: Product
  /** The address to which requests are sent. */
  readonly url: string
  /** The service in the `url` option, written `[folder/]<name>.<type>`. */
  readonly defaultService: string | undefined
  /**
   * Lists all webhooks: of the site (from version 11.2), of the organization in ArcGIS Online, or of the portal. The
   * methods of {@link service} and {@link portal} throw the same errors.
   *
   * @param options for ArcGIS Online, the user name of the owner
   */
  list(options?: { owner?: string }): AsyncIterable<Webhook>
  /** Lists the webhooks of all servers that belong to the portal (from version 11.3), or those of a user. */
  listServiceWebhooks(options?: { owner?: string }): AsyncIterable<ServiceWebhook>
  /**
   * The webhooks of a service.
   *
   * @param name `[folder/]<name>.FeatureServer` or `….GPServer`. Default: the service in the option `url`
   * @throws {WebhookError} `config_invalid`, `admin_unsupported` at a portal
   */
  service(name?: string): Webhooks
  /** The webhooks of the portal. @throws {WebhookError} `admin_unsupported` without a portal */
  portal(): Webhooks
  /** Reads how webhooks are delivered. */
  settings(): Promise<DeliverySettings>
  /** Changes how webhooks are delivered. @throws {WebhookError} also `admin_unsupported`, `config_invalid` */
  editSettings(changes: DeliverySettings): Promise<DeliverySettings>
  /** Makes you the owner of all webhooks of another user. Only ArcGIS Online can do this. */
  takeOver(options: { from: string }): Promise<void>
}
