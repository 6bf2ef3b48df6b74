import { configInvalid } from '../errors.ts'
import type { DurableInbox } from '../inbox/durable-inbox.ts'
import { describeMissing, type OptionNames, requireKnownOptions } from '../known-options.ts'
import { readMilliseconds, readSize } from '../receiver/option-values.ts'
import { type Origins, readOrigins } from './origins.ts'
import type { Connection } from './request.ts'
import { type ChangesObserver, requireChangesObserver } from './steps.ts'
import { readToken, type TokenSource } from './token.ts'
import type { Interval } from './wait.ts'

/** The part of an inbox that keeps generations, and the deliveries of {@link ChangesClient.catchUp}. */
export type ChangesInbox = Pick<DurableInbox, 'generations' | 'get' | 'put'>

/** Options of {@link createChanges}. */
export interface ChangesOptions {
  /**
   * A token; a function that returns one for the URL of a request; or credentials of `@esri/arcgis-rest-request`. A
   * function is called for the first request to an origin, and again when the service rejects its token. Omit it for
   * services that anyone may read.
   */
  token?: TokenSource | undefined
  /**
   * The origins of your services, for example `https://gis.example.com`. URLs from payloads and responses outside them
   * are refused, so that no other server gets the token. Only this machine may have http.
   */
  origins: readonly string[]
  /**
   * An inbox, which then keeps the last handled generation of each layer: an extraction begins there if deliveries were
   * lost. Handlers must pass their third argument to `of`.
   */
  inbox?: ChangesInbox | undefined
  /** Maximum duration of one call in milliseconds, 1,000 to 2^31 - 1. Default 300,000, which is 5 minutes. */
  timeout?: number | undefined
  /** Maximum size of a response, after decompression: bytes, or a string such as `'64mb'`. Default `'256mb'`. */
  limit?: number | string | undefined
  /**
   * Whether to extract changes of attachments. Default: with an inbox `true`; otherwise if the event is about
   * attachments or its URL asks for them.
   */
  attachments?: boolean | undefined
  /** Whether to extract the last state of deleted features. It needs a service of version 11.1 or later. Default `false`. */
  deletedFeatures?: boolean | undefined
  /** Names of fields: `fieldUpdates` of each layer then lists the updates that changed one of them. */
  fieldsToCompare?: readonly string[] | undefined
  /** Whether to extract `hasGeometryUpdates` of each layer. Default `false`. */
  geometryUpdates?: boolean | undefined
  /** Spatial reference of geometries, as a well-known id such as 4326. Default: that of each layer. */
  outSR?: number | undefined
  /**
   * Milliseconds between two polls of a job, and before a failed request is repeated: at first `min`, then more, up to
   * `max`; at least 1. Default `{ min: 1000, max: 5000 }`.
   */
  pollInterval?: Interval | undefined
  /** See {@link ChangesObserver}. */
  observer?: ChangesObserver | undefined
}

const NAMES: OptionNames<ChangesOptions> = {
  token: true,
  origins: true,
  inbox: true,
  timeout: true,
  limit: true,
  attachments: true,
  deletedFeatures: true,
  fieldsToCompare: true,
  geometryUpdates: true,
  outSR: true,
  pollInterval: true,
  observer: true,
}

/** The options of a client, with their defaults. */
export interface Settings {
  connection: Connection & { origins: Origins }
  inbox: ChangesInbox | undefined
  timeout: number
  /** Undefined to decide by the events. */
  attachments: boolean | undefined
  /** Fields of every extraction. */
  parameters: Record<string, string>
}

/** @throws {WebhookError} `config_invalid` */
export function readOptions(options: Partial<ChangesOptions> = {}): Settings {
  requireKnownOptions(options, NAMES)
  const { token, origins, inbox, timeout = 300_000, limit = '256mb', observer } = options
  // An environment variable that is not set must not mean "without a token".
  if (token === undefined && Object.hasOwn(options, 'token'))
    throw configInvalid(describeMissing('token', token))
  const { attachments, deletedFeatures = false, fieldsToCompare, geometryUpdates = false, outSR } = options
  for (const [name, value] of Object.entries({ attachments, deletedFeatures, geometryUpdates }))
    if (value !== undefined && typeof value !== 'boolean')
      throw configInvalid(`${name} must be true or false`)
  if (readMilliseconds('timeout', timeout) < 1000) throw configInvalid('timeout must be at least 1,000 ms')
  if (outSR !== undefined && !(Number.isSafeInteger(outSR) && outSR > 0))
    throw configInvalid('outSR must be a well-known id, such as 4326')
  requireChangesObserver(observer)
  return {
    connection: {
      origins: readOrigins(origins),
      tokens: readToken(token),
      limit: readSize('limit', limit),
      pollInterval: readInterval(options.pollInterval),
      observer,
    },
    inbox: inbox && requireInbox(inbox),
    timeout,
    attachments: attachments ?? (inbox ? true : undefined),
    parameters: {
      dataFormat: 'json',
      ...(outSR === undefined ? {} : { outSR: String(outSR) }),
      ...(deletedFeatures ? { returnDeletedFeatures: 'true' } : {}),
      ...(geometryUpdates ? { returnHasGeometryUpdates: 'true' } : {}),
      ...(fieldsToCompare
        ? { fieldsToCompare: JSON.stringify({ fields: requireNames(fieldsToCompare) }) }
        : {}),
    },
  }
}

function readInterval({ min, max }: Interval = { min: 1000, max: 5000 }): Interval {
  readMilliseconds('pollInterval.min', min)
  if (readMilliseconds('pollInterval.max', max) < min)
    throw configInvalid('pollInterval.max must not be less than pollInterval.min')
  return { min, max }
}

function requireNames(names: readonly string[]): readonly string[] {
  if (Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string' && name))
    return names
  throw configInvalid('fieldsToCompare must be a list of field names')
}

function requireInbox(inbox: ChangesInbox): ChangesInbox {
  if (typeof inbox.generations?.get === 'function') return inbox
  throw configInvalid('inbox must be an inbox of geohook, with the member generations')
}
