import { configInvalid } from '../errors.ts'
import { requireEncoding, type SignatureEncoding } from '../signature/encoding.ts'
import { createKeyring, type Keyring, type SignatureKeys } from '../signature/keyring.ts'
import type { Delivery } from './delivery.ts'
import type { DuplicateStore } from './duplicates.ts'
import { createKeyFinder, type FindKeys, type KeyFunction } from './keys.ts'
import { createLog, warn } from './log.ts'
import { createNotifier, type Notifier, type Observer } from './observer.ts'
import { type Profile, service } from './profiles.ts'
import type { StandardSchema } from './schema.ts'

/** A durable store that takes a delivery over from the request. */
export interface Inbox {
  /**
   * Resolves when the delivery would survive a crash: with `'duplicate'` where the inbox had it before, else with
   * anything else. Rejects when it would not survive.
   */
  put(delivery: Delivery): Promise<unknown>
}

/** What {@link createReceiver} takes. README.md has the same as a table. */
export interface ReceiverOptions<Payload = unknown> {
  /** The webhook's `signatureKey`: string, bytes, several (newest first), or a function. Required unless `unsigned` is `'accept'`. */
  signatureKey?: SignatureKeys | KeyFunction | undefined
  /** The kind of sender. Default {@link service}; options given beside it win. */
  profile?: Profile | undefined
  /** The header with the signature. Default `'x-service'`; upper and lower case are one. */
  signatureHeader?: string | undefined
  /** Default `'auto'`. */
  encoding?: SignatureEncoding | undefined
  /** The largest body, in bytes or as `'512kb'` or `'1mb'` (of 1024). Default `'1mb'`. */
  limit?: number | string | undefined
  /**
   * Maximum body bytes of all requests in flight together, as a number or like `limit`; at least `limit`. Requests over
   * it are rejected with 503. Default `'64mb'`, or `limit` where that is more.
   */
  maxInFlightBytes?: number | string | undefined
  /** Milliseconds within which the whole body must arrive, 1 to 2^31 - 1. Default 10,000. */
  bodyTimeout?: number | undefined
  /** `'accept'` lets requests without a signature through: only for senders before version 11.2. Default `'reject'`. */
  unsigned?: 'reject' | 'accept' | undefined
  /** Milliseconds that the newest event may lie in the past or in the future, from 1. Default: not checked. */
  maxAge?: number | undefined
  /** What `maxAge` does with payloads that have no time, or none that can be read. Default `'reject'`. */
  untimed?: 'reject' | 'accept' | undefined
  /** Remembers deliveries, so that none is done twice. Default: none. */
  duplicates?: DuplicateStore | undefined
  /** Stores deliveries before they are answered. Default: none, the handlers run before the answer. */
  inbox?: Inbox | undefined
  /** Types and checks the payload: any Standard Schema. */
  schema?: StandardSchema<Payload> | undefined
  /** Is told what happens. Default: refusals and failures become process warnings. */
  observer?: Observer<NoInfer<Payload>> | undefined
  /** The time in milliseconds since 1970, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined
}

/** The options, checked and ready for use. */
export interface Config {
  profile: Profile
  findKeys: FindKeys
  signatureHeader: string
  encoding: SignatureEncoding
  limit: number
  maxInFlightBytes: number
  bodyTimeout: number
  acceptUnsigned: boolean
  maxAge: number | undefined
  acceptUntimed: boolean
  duplicates: DuplicateStore | undefined
  inbox: Inbox | undefined
  schema: StandardSchema | undefined
  notifier: Notifier
  clock: () => number
}

/** @throws {WebhookError} `config_invalid` */
export function readOptions(options: ReceiverOptions): Config {
  const { duplicates, inbox, schema } = options
  const profile = options.profile ?? service
  const clock = options.clock ?? Date.now
  requireFunctions('clock', clock)
  if (duplicates) requireFunctions('duplicates', duplicates.claim, duplicates.done, duplicates.release)
  if (inbox) requireFunctions('inbox', inbox.put)
  if (schema) requireFunctions('schema', schema['~standard']?.validate)
  const limit = readSize('limit', options.limit ?? '1mb')
  const config: Config = {
    profile,
    findKeys: createKeyFinder(readKeys(options)),
    signatureHeader: readHeaderName(options.signatureHeader ?? profile.signatureHeader),
    encoding: requireEncoding(options.encoding ?? profile.encoding ?? 'auto'),
    limit,
    // A body that is alone in flight must fit.
    maxInFlightBytes: readSize(
      'maxInFlightBytes',
      options.maxInFlightBytes ?? Math.max(limit, 64 * 1024 ** 2),
      limit,
    ),
    bodyTimeout: readMilliseconds('bodyTimeout', options.bodyTimeout ?? 10_000),
    acceptUnsigned: readAccept('unsigned', options.unsigned),
    maxAge: options.maxAge === undefined ? undefined : readMilliseconds('maxAge', options.maxAge),
    acceptUntimed: readAccept('untimed', options.untimed),
    duplicates,
    inbox,
    schema,
    notifier: createNotifier(options.observer, createLog(clock)),
    clock,
  }
  if (config.acceptUnsigned) {
    warn("unsigned is 'accept': anyone can send deliveries.", 'unsigned_accepted')
  }
  return config
}

/** @throws {WebhookError} `config_invalid`, at construction, for what would fail at every delivery */
function requireFunctions(option: string, ...functions: unknown[]): void {
  if (functions.some((one) => typeof one !== 'function')) throw configInvalid(`${option} lacks a function`)
}

function readAccept(option: string, value: 'reject' | 'accept' = 'reject'): boolean {
  if (value === 'accept' || value === 'reject') return value === 'accept'
  throw configInvalid(`${option} must be 'reject' or 'accept'`)
}

function readKeys({ signatureKey, unsigned }: ReceiverOptions): Keyring | KeyFunction {
  if (typeof signatureKey === 'function') return signatureKey
  if (signatureKey === undefined && unsigned === 'accept') return () => null
  return createKeyring(signatureKey as SignatureKeys, true)
}

function readHeaderName(name: string): string {
  // The token of RFC 9110 section 5.6.2.
  if (typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(name)) return name.toLowerCase()
  throw configInvalid('signatureHeader is no header name')
}

/** @throws {WebhookError} `config_invalid` */
export function readSize(option: string, size: number | string, least = 1): number {
  const [, digits, unit = ''] = /^(\d+) ?([kmg]?)b$/i.exec(String(size)) ?? []
  // Where the letter of a unit stands is its power of 1024; the empty one stands at 0.
  const power = ' kmg'.indexOf(unit.toLowerCase())
  const bytes = typeof size === 'number' ? size : Number(digits) * 1024 ** power
  if (Number.isSafeInteger(bytes) && bytes >= least) return bytes
  throw configInvalid(`${option} must be bytes, or like '1mb', from ${least}`)
}

function readMilliseconds(name: string, value: number): number {
  // A longer timer would fire at once.
  if (Number.isInteger(value) && value >= 1 && value <= 2 ** 31 - 1) return value
  throw configInvalid(`${name} must be whole milliseconds, 1 to 2^31 - 1`)
}
