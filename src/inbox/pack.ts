import { blameCaller, WebhookError } from '../errors.ts'
import { checkOptions, must, type OptionNames, readSize } from '../options.ts'
import type { Delivery, HeaderBag, StoredDelivery } from '../receiver/types.ts'
import { fromBinary } from '../shared/bytes.ts'
import { isHeaderName } from '../shared/headers.ts'
import { isObject, tryJson } from '../shared/json.ts'
import { isTenant } from '../signature/keyring.ts'
import { serviceOf } from './group-key.ts'
import { copyDelivery, toAsciiJson } from './serialize.ts'

/** Options of {@link packDelivery}. */
export interface PackOptions {
  /**
   * Names of the headers to keep, in any case. Default: all except `authorization`, `cookie`, `proxy-authorization` and
   * `secret`, because dashboards of queues show them.
   */
  headers?: readonly string[] | undefined
  /** Maximum size of the text, in bytes or as a string such as `'128kb'`. Default: no limit. */
  maxBytes?: number | string | undefined
}

const OPTIONS: OptionNames<PackOptions> = {
  headers: must(
    'be a list of header names',
    (names) => Array.isArray(names) && names.every((name) => typeof name === 'string' && isHeaderName(name)),
  ),
  maxBytes: true,
}

const KIND = 'delivery'
const VERSION = 1

const SECRETS = ['authorization', 'cookie', 'proxy-authorization', 'secret']

/** Bounds of the members that are only for dashboards, because the sender determines their length. */
const MAX_CHANGE_TYPES = 20
const MAX_CHANGE_TYPE = 200
const MAX_SERVICE = 2_000

/**
 * The error of {@link unpackDelivery}. Its `version` says what to do with the message.
 *
 * @example
 * ```ts
 * import { UnpackError, unpackDelivery } from 'geohook/inbox'
 *
 * try {
 *   unpackDelivery('no delivery')
 * } catch (error) {
 *   if (!(error instanceof UnpackError)) throw error
 *   console.log(error.version === undefined ? 'move it to the dead letters' : 'retry it later')
 * }
 * ```
 */
export class UnpackError extends WebhookError {
  declare readonly code: 'delivery_unreadable'
  /**
   * The version of the format, if it is unknown here: probably a newer geohook wrote the text. Then retry the message
   * later. Undefined if the text can never be read.
   */
  declare readonly version?: number

  constructor(message: string, hint = '', version?: number) {
    super('delivery_unreadable', { message, hint })
    this.name = 'UnpackError'
    if (version !== undefined) this.version = version
  }
}

/**
 * Writes a delivery as one line of ASCII text, for a queue of your own (docs/queues.md). The text is JSON with the body
 * in base64, so it has about 4/3 of the size of the body. Its `changeTypes` (at most 20) and `service` are only for
 * dashboards and routing: {@link unpackDelivery} ignores them, and `receiver.handle` decodes the body again.
 *
 * @throws {WebhookError} `delivery_too_large` if the text is larger than `maxBytes`; `config_invalid` for an invalid
 *   option
 * @example
 * ```ts
 * import { createReceiver, type Inbox } from 'geohook'
 * import { packDelivery } from 'geohook/inbox'
 *
 * const queue: string[] = [] // a real queue writes to a disk
 * const inbox: Inbox = { put: async (delivery) => queue.push(packDelivery(delivery, { maxBytes: '1mb' })) }
 * createReceiver({ signatureKey: 'parcels2026', inbox, limit: '700kb' })
 * ```
 */
export function packDelivery(delivery: Delivery, options: PackOptions = {}): string {
  const maxBytes = blameCaller(packDelivery, () => readMaxBytes(options))
  const { id, receivedAt, profile, keyIndex, tenant, contentType, rawBody } = delivery
  const text = toAsciiJson({
    geohook: KIND,
    v: VERSION,
    id,
    receivedAt: receivedAt.toISOString(),
    profile,
    keyIndex,
    tenant,
    contentType,
    headers: keep(delivery.headers, options.headers),
    changeTypes: delivery.changeTypes
      .slice(0, MAX_CHANGE_TYPES)
      .map((name) => name.slice(0, MAX_CHANGE_TYPE)),
    service: serviceOf(delivery.events)?.slice(0, MAX_SERVICE),
    size: rawBody.length,
    body: encodeBody(rawBody),
  })
  if (text.length <= maxBytes) return text
  throw new WebhookError('delivery_too_large', {
    message: `the packed delivery has ${text.length} bytes, and maxBytes is ${maxBytes}`,
    hint: 'Lower the option limit of the receiver, so that it refuses such bodies with 413.',
  })
}

function readMaxBytes(options: PackOptions): number {
  const { maxBytes } = checkOptions(options, OPTIONS)
  return maxBytes === undefined ? Number.POSITIVE_INFINITY : readSize('maxBytes', maxBytes)
}

function keep(headers: HeaderBag, names: readonly string[] | undefined): HeaderBag {
  const listed = new Set((names ?? SECRETS).map((name) => name.toLowerCase()))
  const isListed = names !== undefined
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => listed.has(name.toLowerCase()) === isListed),
  )
}

/**
 * Reads the text of {@link packDelivery}, and checks every member that it returns. It cannot check who wrote the text:
 * anyone who can write to your queue can make your handlers run.
 *
 * @throws {UnpackError} `delivery_unreadable`. If the error has a `version`, retry the message later: a newer geohook
 *   wrote it, as happens during a deployment. Otherwise move the message to the dead letters.
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { UnpackError, unpackDelivery } from 'geohook/inbox'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', (event) => console.log(event.changeType))
 * try {
 *   await receiver.handle(unpackDelivery('{"geohook":"delivery","v":2}'))
 * } catch (error) {
 *   if (error instanceof UnpackError) console.log(error.version) // 2
 * }
 * ```
 */
export function unpackDelivery(text: string): StoredDelivery {
  const packed = typeof text === 'string' ? tryJson(text) : undefined
  if (!isObject(packed) || packed.geohook !== KIND)
    throw new UnpackError('the text is not a packed delivery', 'Only packDelivery() may write to this queue.')
  const { v, id, profile, keyIndex, tenant, contentType, headers, size, body } = packed
  if (v !== VERSION) {
    const isVersion = Number.isSafeInteger(v) && Number(v) > VERSION
    if (!isVersion) throw new UnpackError('the packed delivery has no valid version')
    throw new UnpackError(
      `version ${v} of the packed delivery is unknown`,
      'Update geohook in the processes that read the queue, and let the queue retry the message.',
      v as number,
    )
  }
  requireMember('id', typeof id === 'string' && /^[0-9a-f]{32}$/.test(id))
  requireMember('profile', typeof profile === 'string' && profile !== '')
  requireMember(
    'keyIndex',
    keyIndex === undefined || (Number.isSafeInteger(keyIndex) && Number(keyIndex) >= 0),
  )
  requireMember('tenant', tenant === undefined || isTenant(tenant))
  requireMember('contentType', typeof contentType === 'string')
  requireMember('headers', isObject(headers) && Object.values(headers).every(isHeader))
  const rawBody = typeof body === 'string' ? decodeBody(body) : undefined
  requireMember('body', rawBody && rawBody.length === size)
  const receivedAt = new Date(typeof packed.receivedAt === 'string' ? packed.receivedAt : Number.NaN)
  requireMember(
    'receivedAt',
    !Number.isNaN(receivedAt.getTime()) && receivedAt.toISOString() === packed.receivedAt,
  )
  const stored = { id, rawBody, contentType, headers, receivedAt, profile, keyIndex, tenant }
  return copyDelivery(stored as StoredDelivery)
}

function requireMember(name: string, isValid: unknown): void {
  if (!isValid) throw new UnpackError(`the member ${name} of the packed delivery is invalid`)
}

const isHeader = (value: unknown): boolean => [value].flat().every((one) => typeof one === 'string')

const PART = 8_192

/** Like `toBase64` in shared/, which takes ten times as long for a large body, but is smaller. */
function encodeBody(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += PART)
    binary += String.fromCharCode.apply(null, bytes.subarray(at, at + PART) as unknown as number[])
  return btoa(binary)
}

/** Returns undefined for text that is not the only base64 of its bytes. */
function decodeBody(body: string): Uint8Array | undefined {
  try {
    const bytes = fromBinary(atob(body))
    return encodeBody(bytes) === body ? bytes : undefined
  } catch {
    return undefined
  }
}
