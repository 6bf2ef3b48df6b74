import { configInvalid } from '../errors.ts'
import { type OptionNames, requireKnownOptions } from '../known-options.ts'
import { requireEncoding, type SignatureEncoding } from '../signature/encoding.ts'
import { createKeyring, type Keyring, type SignatureKeys } from '../signature/keyring.ts'
import { type Profile, type ProfileName, readProfile, type SecretProfile } from '../signature/profiles.ts'
import type { Delivery } from './delivery.ts'
import type { DuplicateStore } from './duplicates.ts'
import { secretHeaders } from './headers.ts'
import { createKeyFinder, type FindKeys, type KeyFunction } from './keys.ts'
import { createLog } from './log.ts'
import { createNotifier, type Notifier, type Observer } from './observer.ts'
import { readMaxAge, readMilliseconds, readSize } from './option-values.ts'
import type { StandardSchema } from './payload-schema.ts'
import { type ProofHeaders, readProofHeaders } from './proof-options.ts'

/** A durable store for verified deliveries. */
export interface Inbox {
  /**
   * Stores a delivery. Resolves once the delivery would survive a crash: with `'duplicate'` if the inbox already has
   * it, otherwise with any other value. Rejects if the delivery cannot be stored.
   */
  put(delivery: Delivery): Promise<unknown>
}

/** Options of {@link createReceiver}, also listed in docs/reference.md. */
export type ReceiverOptions<Payload = unknown> = CommonReceiverOptions<Payload> &
  (UnsignedOptions | SignedOptions)

/** Who may send deliveries: senders with one of these keys. */
export interface SignedOptions {
  /**
   * The webhook's `signatureKey`: a string, bytes, a list of several keys (newest first), or a function that returns
   * any of these. The value may be missing only if `unsigned` is `'accept'`; the type allows `undefined`, so that you
   * can pass an environment variable.
   */
  signatureKey: SignatureKeys | KeyFunction | undefined
  /** `'accept'` accepts requests without a signature. Use it only for senders before version 11.2. Default `'reject'`. */
  unsigned?: 'reject' | 'accept' | undefined
}

/** Who may send deliveries: anyone. Use it only for senders before version 11.2, which cannot sign. */
export interface UnsignedOptions {
  signatureKey?: undefined
  unsigned: 'accept'
}

/** The options of {@link createReceiver} except those that say who may send deliveries. */
export interface CommonReceiverOptions<Payload = unknown> {
  /**
   * The kind of sender: a name, or an object. Default `'service'`. Other options take precedence over it. With `'portal'`
   * the body is not signed: see {@link SecretProfile}.
   */
  profile?: ProfileName | Profile | SecretProfile | undefined
  /** The header with the signature, case-insensitive. Default `'x-service'`. */
  signatureHeader?: string | undefined
  /** The encoding of the signature. Default `'auto'`: hex or base64. */
  encoding?: SignatureEncoding | undefined
  /** Maximum body size, in bytes or as `'512kb'` or `'1mb'` (1 kb = 1024 bytes). Default `'1mb'`. */
  limit?: number | string | undefined
  /**
   * Maximum body bytes of all requests in flight together, in the same format as `limit`; at least `limit`. Further
   * requests are rejected with 503. Default: `'64mb'` or `limit`, whichever is larger.
   */
  maxInFlightBytes?: number | string | undefined
  /** Maximum milliseconds for the whole body to arrive, 1 to 2^31 - 1. Default 10,000. */
  bodyTimeout?: number | undefined
  /**
   * Maximum milliseconds between now and the time of the newest event, which may be in the past or the future. At least
   * 1. Default: not checked.
   */
  maxAge?: number | undefined
  /** If `maxAge` is set: whether to reject or accept payloads without a valid event time. Default `'reject'`. */
  untimed?: 'reject' | 'accept' | undefined
  /** Remembers handled deliveries, so that no delivery is handled twice. Default: none. */
  duplicates?: DuplicateStore | undefined
  /** Stores deliveries before the receiver responds. Default: none; the handlers run before the response. */
  inbox?: Inbox | undefined
  /** Any Standard Schema. It validates the payload and determines its type. */
  schema?: StandardSchema<Payload> | undefined
  /** Functions called as requests are processed. Default: rejections and failures become process warnings. */
  observer?: Observer<NoInfer<Payload>> | undefined
  /** Returns the current time in milliseconds since 1970; for tests. Default `Date.now`. */
  clock?: (() => number) | undefined
}

export const OPTION_NAMES: OptionNames<ReceiverOptions> = {
  signatureKey: true,
  profile: true,
  signatureHeader: true,
  encoding: true,
  limit: true,
  maxInFlightBytes: true,
  bodyTimeout: true,
  unsigned: true,
  maxAge: true,
  untimed: true,
  duplicates: true,
  inbox: true,
  schema: true,
  observer: true,
  clock: true,
}

/** The options, validated and with their defaults. */
export interface Config extends ProofHeaders {
  profile: Pick<Profile, 'name' | 'handshake'>
  findKeys: FindKeys
  /** The headers whose values are replaced before anyone sees them. */
  redacted: readonly string[]
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
  requireKnownOptions(options, OPTION_NAMES)
  const { duplicates, inbox, schema } = options
  const profile = readProfile(options.profile)
  const { name, handshake } = profile
  if (typeof name !== 'string') throw configInvalid('profile.name must be a string')
  const { signatureHeader, secretHeader } = readProofHeaders(options, profile)
  const clock = options.clock ?? Date.now
  requireFunctions('clock', clock)
  if (duplicates) requireFunctions('duplicates', duplicates.claim, duplicates.done, duplicates.release)
  if (inbox) requireFunctions('inbox', inbox.put)
  if (schema) requireFunctions('schema', schema['~standard']?.validate)
  const limit = readSize('limit', options.limit ?? '1mb')
  const config: Config = {
    profile: handshake ? { name, handshake } : { name },
    findKeys: createKeyFinder(readKeys(options)),
    signatureHeader,
    secretHeader,
    redacted: secretHeaders(signatureHeader, secretHeader),
    encoding: requireEncoding(options.encoding ?? profile.encoding ?? 'auto'),
    limit,
    // The budget must fit at least one body of the maximum size.
    maxInFlightBytes: readSize(
      'maxInFlightBytes',
      options.maxInFlightBytes ?? Math.max(limit, 64 * 1024 ** 2),
      limit,
    ),
    bodyTimeout: readMilliseconds('bodyTimeout', options.bodyTimeout ?? 10_000),
    acceptUnsigned: readAccept('unsigned', options.unsigned),
    maxAge: options.maxAge === undefined ? undefined : readMaxAge(options.maxAge),
    acceptUntimed: readAccept('untimed', options.untimed),
    duplicates,
    inbox,
    schema,
    notifier: createNotifier(options.observer, createLog(clock)),
    clock,
  }
  return config
}

/**
 * @throws {WebhookError} `config_invalid` if a value is not a function; without this check, every delivery would fail
 */
function requireFunctions(option: string, ...functions: unknown[]): void {
  if (functions.some((value) => typeof value !== 'function'))
    throw configInvalid(`${option} is not valid: a function is missing`)
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
