import { configInvalid } from '../errors.ts'
import type { DurableInbox } from '../inbox/durable-inbox.ts'
import {
  checkOptions,
  describeMissing,
  isBoolean,
  isFilledText,
  isFunction,
  milliseconds,
  must,
  type OptionNames,
  readSize,
  requireKnownOptions,
  requireObserver,
  requireValue,
  wholeNumber,
} from '../options.ts'
import { type Fetch, type Interval, REFERER, showUrl } from '../shared/client.ts'
import { readToken, type TokenSource } from '../shared/tokens.ts'
import { type ChangesError, toTokenError } from './errors.ts'
import { Origins } from './origins.ts'
import type { Connection } from './request.ts'
import type { ChangesObserver, CopyService } from './types.ts'

/** The part of an inbox that stores generations, and the deliveries of {@link ChangesClient.catchUp}. */
export type ChangesInbox = Pick<DurableInbox, 'generations' | 'get' | 'put' | 'handles'>

/** Options of {@link createChanges}. */
export interface ChangesOptions {
  /**
   * A token; a function that returns one for the URL of a request; or credentials of `@esri/arcgis-rest-request`. A
   * function is called for the first request to an origin, and again if the service rejects the token. Omit this
   * option for public services; `undefined` throws `config_invalid`, and is a type error with
   * `exactOptionalPropertyTypes`.
   */
  token?: TokenSource
  /**
   * The referer to which the token is bound, exactly as it was given to `generateToken` with `client=referer`: an http
   * or https URL, or a host. Each request to `origins` sends it in the header `Referer`. Default: none.
   */
  referer?: string | undefined
  /**
   * The origins of your services, for example `https://gis.example.com`. URLs from payloads and responses must be in
   * them, so that no other server gets the token. http is allowed only for loopback addresses.
   */
  origins: readonly string[]
  /**
   * An inbox that stores the last handled generation of each layer. If deliveries were lost, an extraction begins
   * there. Handlers must pass their third argument to `of`. Default: none.
   */
  inbox?: ChangesInbox | undefined
  /** Maximum duration of one call in milliseconds, 1,000 to 2^31 - 1. Default 300,000, which is 5 minutes. */
  timeout?: number | undefined
  /** Maximum size of a response after decompression, in bytes or as a string such as `'64mb'`. Default `'256mb'`. */
  limit?: number | string | undefined
  /**
   * Whether to extract changes of attachments. Default: `true` with an inbox; otherwise `true` if an event is about
   * attachments or its `changesUrl` requests them.
   */
  attachments?: boolean | undefined
  /** Whether to extract the last rows of deleted features. Requires version 11.1 of the service. Default `false`. */
  deletedFeatures?: boolean | undefined
  /** Names of the fields that `fieldUpdates` covers. Requires version 11.0 of the service. Default: none. */
  fieldsToCompare?: readonly string[] | undefined
  /** Whether to extract `hasGeometryUpdates` of each layer. Requires version 10.9 of the service. Default `false`. */
  geometryUpdates?: boolean | undefined
  /** Spatial reference of geometries, as a well-known id such as 4326. Default: that of each layer. */
  outSR?: number | undefined
  /**
   * Milliseconds between two polls of a job, and before a retry: `min` at first, growing to `max`, each varied by up to
   * 25 %. Both are at least 1. Default `{ min: 1000, max: 5000 }`.
   */
  pollInterval?: Interval | undefined
  /** A function that sends the requests, for example through a proxy. Default: the global `fetch`. */
  fetch?: Fetch | undefined
  /** See {@link ChangesObserver}. */
  observer?: ChangesObserver | undefined
}

const NAMES: OptionNames<ChangesOptions> = {
  token: true,
  referer: REFERER,
  origins: true,
  inbox: must(
    'be an inbox of geohook, with the member generations',
    (inbox) => isFunction((inbox as ChangesInbox | null)?.generations?.get) === undefined,
  ),
  timeout: milliseconds(1000),
  limit: true,
  attachments: isBoolean,
  deletedFeatures: isBoolean,
  fieldsToCompare: must('be a list of field names', isNames),
  geometryUpdates: isBoolean,
  outSR: wholeNumber(1),
  pollInterval: true,
  fetch: isFunction,
  observer: true,
}

export interface Settings {
  connection: Connection
  inbox: ChangesInbox | undefined
  timeout: number
  /** `undefined` if the events decide. */
  attachments: boolean | undefined
  parameters: Record<string, string>
}

/** @throws {WebhookError} `config_invalid` */
export function readOptions(options: Partial<ChangesOptions> = {}): Settings {
  checkOptions(options, NAMES)
  const { token, referer, origins, inbox, timeout = 300_000, limit = '256mb', fetch, observer } = options
  // An unset environment variable must not mean "without a token".
  if (token === undefined && Object.hasOwn(options, 'token'))
    throw configInvalid(describeMissing('token', token))
  const { attachments, deletedFeatures = false, fieldsToCompare, geometryUpdates = false, outSR } = options
  requireChangesObserver(observer)
  return {
    connection: {
      origins: new Origins(origins),
      tokens: readToken(token, toTokenError),
      referer,
      limit: readSize('limit', limit),
      pollInterval: readInterval(options.pollInterval),
      fetch,
      observer,
    },
    inbox,
    timeout,
    attachments: attachments ?? (inbox ? true : undefined),
    parameters: {
      dataFormat: 'json',
      ...(outSR === undefined ? {} : { outSR: String(outSR) }),
      ...(deletedFeatures ? { returnDeletedFeatures: 'true' } : {}),
      ...(geometryUpdates ? { returnHasGeometryUpdates: 'true' } : {}),
      ...(fieldsToCompare ? { fieldsToCompare: JSON.stringify({ fields: fieldsToCompare }) } : {}),
    },
  }
}

export function isNames(names: unknown): boolean {
  // every() skips holes, includes() does not.
  return Array.isArray(names) && names.length > 0 && !names.some(isFilledText) && !names.includes(undefined)
}

function readInterval(interval: Interval = { min: 1000, max: 5000 }): Interval {
  requireKnownOptions(interval, { min: true, max: true }, 'pollInterval member')
  const { min, max } = interval
  requireValue('pollInterval.min', min, milliseconds())
  requireValue('pollInterval.max', max, milliseconds())
  if (max < min) throw configInvalid('pollInterval.max must not be less than pollInterval.min')
  return { min, max }
}

/** Options of {@link ChangesClient.catchUp}. */
export interface CatchUpOptions {
  /**
   * URLs of feature services (`https://…/FeatureServer`) in the allowed origins, spelled as in the `changesUrl` of their
   * deliveries. At least one.
   */
  services: readonly string[]
  /**
   * Milliseconds between two polls, 100 to 2^31 - 1. Default: services are polled only at the start and when `poll` is
   * called.
   */
  every?: number | undefined
  /**
   * Copies all features of a service. Called when its changes alone are not enough: at the first start (`first_start`),
   * if the service no longer keeps all changes since the last handled generation (`purged`), or if it was restored or
   * replaced (`reset`). Without this function, the first start begins at the current generations, and the other two
   * cases are reported to `onError` as `resync_required`.
   */
  resync?: CopyService | undefined
  /**
   * Called with the URL of a service when a poll finds that no changes are missing: all changes, or at least those that
   * the previous poll saw, have been handled or are in the copy. Called at the first such poll, and again at the first
   * one after missing changes, a copy or an error. Its errors are ignored.
   */
  onCaughtUp?: ((service: string) => unknown) | undefined
  /**
   * Called with each error of a poll: a `WebhookError` with one of the codes of `geohook/changes`, or the error that
   * `resync` threw. Default: emits a process warning whenever the error code of a service changes.
   */
  onError?: ((error: unknown, service: string) => unknown) | undefined
}

const CATCH_UP_NAMES: OptionNames<CatchUpOptions> = {
  services: true,
  every: milliseconds(100),
  resync: isFunction,
  onCaughtUp: isFunction,
  onError: isFunction,
}

/** @throws {WebhookError} `config_invalid` */
export function readCatchUpOptions(options: CatchUpOptions, origins: Origins): CatchUpOptions {
  const { services, every, resync, onCaughtUp, onError } = checkOptions(options, CATCH_UP_NAMES)
  if (!Array.isArray(services) || services.length === 0)
    throw configInvalid('services must be an array with at least one URL of a feature service')
  return {
    services: [...new Set(services.map((url) => readServiceUrl(url, origins)))],
    every,
    resync,
    onCaughtUp,
    onError,
  }
}

/**
 * Reads the URL of a feature service, and normalizes it as `parseChangesUrl` does.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function readServiceUrl(text: string, origins: Origins): string {
  let url: URL
  try {
    url = origins.require(text, 'URL of the service')
  } catch (error) {
    const { message, hint } = error as ChangesError
    throw configInvalid(message, hint)
  }
  if (url.search || !/\/FeatureServer\/?$/i.test(url.pathname))
    throw configInvalid(`the URL of the service ${showUrl(url)} must end with /FeatureServer`)
  return url.href.replace(/\/$/, '')
}

/** @throws {WebhookError} `config_invalid` */
export function requireChangesObserver(observer: ChangesObserver | undefined): void {
  requireObserver(observer, { around: true } satisfies OptionNames<ChangesObserver>)
}
