import { guard, WebhookError } from '../errors.ts'
import {
  checkOptions,
  hasMethods,
  isFunction,
  isText,
  milliseconds,
  type OptionNames,
  oneOf,
  readSize,
  requireValue,
} from '../options.ts'
import { createKeyring, type KeySource, keyringPort, type SignatureKeys } from '../signature/keyring.ts'
import {
  DEFAULT_SIGNATURE_HEADER,
  type Profile,
  type ProfileMembers,
  readProfile,
  requireUnsigned,
} from '../signature/profiles.ts'
import { isEncoding, requireHeaderName } from '../signature/signature.ts'
import { createLog, printable, warn } from './log.ts'
import { createNotifier, type Notifier } from './observer.ts'
import { type BodyLimits, secretHeaders } from './request.ts'
import type { DuplicateStore, Inbox, KeyFunction, ReceiverOptions, StandardSchema } from './types.ts'
import { createKeyFinder, type ProofHeaders, type VerifyConfig } from './verify.ts'

export const OPTION_NAMES: OptionNames<ReceiverOptions> = {
  signatureKey: true,
  profile: (profile) => void readProfile(profile as ProfileMembers),
  signatureHeader: true,
  encoding: isEncoding,
  limit: (size) => void readSize('limit', size as number),
  maxInFlightBytes: (size) => void readSize('maxInFlightBytes', size as number),
  bodyTimeout: milliseconds(),
  unsigned: oneOf('reject', 'accept'),
  maxAge: milliseconds(1, Number.MAX_SAFE_INTEGER),
  untimed: oneOf('reject', 'accept'),
  duplicates: hasMethods('claim', 'done', 'release'),
  inbox: hasMethods('put'),
  schema: (schema) =>
    hasMethods('validate')((schema as StandardSchema | null)?.['~standard']) && 'must be a Standard Schema',
  observer: true,
  clock: isFunction,
}

/** The options, validated and with their defaults. */
export interface Config extends BodyLimits, VerifyConfig {
  /** Undefined with a key function. */
  keys: KeySource | undefined
  profile: Pick<Profile, 'name' | 'handshake'>
  /** The headers whose values are replaced before anyone sees them. */
  redacted: readonly string[]
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
  const {
    limit: givenLimit = '1mb',
    bodyTimeout = 10_000,
    maxAge,
    duplicates,
    inbox,
    schema,
    clock = Date.now,
  } = checkOptions(options, OPTION_NAMES)
  const profile = readProfile(options.profile)
  const { handshake } = profile
  const name = requireValue('profile.name', profile.name, isText) as string
  const { signatureHeader, secretHeader } = readProofHeaders(options, profile)
  const limit = readSize('limit', givenLimit)
  // The budget must fit at least one body of the maximum size.
  const { maxInFlightBytes = Math.max(limit, 64 * 1024 ** 2) } = options
  const keys = readKeys(options)
  const config: Config = {
    keys: typeof keys === 'function' ? undefined : keys,
    profile: handshake ? { name, handshake } : { name },
    findKeys: createKeyFinder(keys, clock),
    signatureHeader,
    secretHeader,
    redacted: secretHeaders(signatureHeader, secretHeader),
    encoding: options.encoding ?? profile.encoding ?? 'auto',
    limit,
    maxInFlightBytes: readSize('maxInFlightBytes', maxInFlightBytes, limit),
    bodyTimeout,
    acceptUnsigned: options.unsigned === 'accept',
    maxAge,
    acceptUntimed: options.untimed === 'accept',
    duplicates,
    inbox,
    schema,
    notifier: createNotifier(options.observer, createLog(clock)),
    clock,
  }
  return config
}

function readKeys({ signatureKey, unsigned }: ReceiverOptions): KeySource | KeyFunction {
  if (typeof signatureKey === 'function') return signatureKey
  if (signatureKey === undefined && unsigned === 'accept') return () => null
  const port = keyringPort(signatureKey)
  if (port) return port
  const keyring = createKeyring(signatureKey as SignatureKeys, true)
  return { current: () => keyring }
}

/**
 * Returns where the senders put their proof: a signature, or the key itself.
 *
 * @throws {WebhookError} `config_invalid` for an invalid name, and for options that say how a body is signed if the
 *   profile says that it is not
 */
export function readProofHeaders(
  options: { signatureHeader?: string | undefined; encoding?: unknown },
  profile: ProfileMembers,
): ProofHeaders {
  if (profile.secretHeader === undefined) {
    const { signatureHeader = profile.signatureHeader as string } = options
    return { signatureHeader: requireHeaderName(signatureHeader).toLowerCase(), secretHeader: undefined }
  }
  const { signatureHeader, encoding } = options
  requireUnsigned({ signatureHeader, encoding })
  return { signatureHeader: DEFAULT_SIGNATURE_HEADER, secretHeader: profile.secretHeader.toLowerCase() }
}

/** Warns about a receiver whose bodies no signature protects. */
export function warnOfUnsigned({ acceptUnsigned, secretHeader, profile }: Config): void {
  if (acceptUnsigned)
    warn("unsigned is 'accept', so anyone can send deliveries to this receiver.", 'unsigned_accepted')
  else if (secretHeader !== undefined)
    warn(
      `The senders of the profile ${printable(profile.name)} do not sign the body: anyone who sees the header ` +
        `${secretHeader} of one request can send deliveries to this receiver. Use HTTPS.`,
      'body_unsigned',
    )
}

/**
 * Validates a payload and returns the output of the schema.
 *
 * @throws {WebhookError} `payload_invalid` with the schema's issues as its cause; `handler_failed` if the schema itself
 *   throws
 */
export async function validate<Output>(schema: StandardSchema<Output>, payload: unknown): Promise<Output> {
  const check = () => schema['~standard'].validate(payload)
  const result = await guard('handler_failed', check, 'the schema threw an error')
  if (!result.issues) {
    if ('value' in result) return result.value
    throw new TypeError('the schema returned neither a value nor issues')
  }
  throw new WebhookError('payload_invalid', { message: result.issues[0]?.message, cause: result.issues })
}
