import { configInvalid } from '../../errors.ts'
import { checkOptions, isFilledText, type OptionNames, readSize, wholeNumber } from '../../options.ts'
import { OPTION_NAMES, readProofHeaders } from '../../receiver/options.ts'
import type { ReceiverOptions } from '../../receiver/types.ts'
import { type CaSource, readTrust, type Trust } from '../../shared/tls-trust.node.ts'
import { keyringPort, type SignatureKey, type SignatureKeys, toKeyList } from '../../signature/keyring.ts'
import { DEFAULT_SIGNATURE_HEADER, readProfile } from '../../signature/profiles.ts'
import { requireHeaderName, type SignatureEncoding } from '../../signature/signature.ts'
import { pathOf } from '../request.ts'

/** Options of `createRequestLog`. */
export interface RequestLogOptions {
  /** Maximum number of recorded requests, 1 to 10,000. The oldest are dropped first. Default 1,000. */
  maxRequests?: number | undefined
  /**
   * Maximum bytes of all recorded bodies, URLs and headers together, as a number or as `'64mb'`. The oldest requests are
   * dropped first; the newest is always kept. A body of more than 8 MiB is not recorded. Default `'64mb'`.
   */
  maxBytes?: number | string | undefined
  /**
   * Default address to send recorded requests to. An origin such as `http://127.0.0.1:3000` gets the path of the
   * request. Default: none; the user enters an address.
   */
  resendTo?: string | undefined
  /**
   * CA certificates to trust when a request is sent again over https, in addition to those that Node trusts: PEM text,
   * the bytes of a PEM or DER file, or a list of these. A function is called for each request, and may return an empty
   * list. Default: none.
   */
  ca?: CaSource | undefined
  /** Title of the page. Default `'geohook receiver'`. */
  title?: string | undefined
}

/** The validated options. */
export interface ResolvedOptions {
  /** The options of the receiver, for `explain`. */
  receiver: Partial<ReceiverOptions>
  /** Returns all known keys, newest first; none for a key function. */
  keys: () => readonly SignatureKey[]
  /** Number of keys; 0 if it can change. */
  keyCount: number
  signatureHeader: string
  /** The header that contains the key itself, if the sender does not sign. */
  secretHeader: string | undefined
  encoding: SignatureEncoding
  clock: () => number
  maxRequests: number
  maxBytes: number
  resendTo: string | undefined
  trust: Trust | undefined
  title: string
}

const NAMES: OptionNames<RequestLogOptions> = {
  maxRequests: wholeNumber(1, 10_000),
  maxBytes: true,
  resendTo: true,
  ca: true,
  title: isFilledText,
}

/** @throws {WebhookError} `config_invalid` */
export function readRequestLogOptions(
  receiver: Partial<ReceiverOptions>,
  options: RequestLogOptions,
): ResolvedOptions {
  const { signatureKey, clock = Date.now } = checkOptions(receiver, OPTION_NAMES)
  const {
    maxRequests = 1000,
    maxBytes = '64mb',
    resendTo,
    ca,
    title = 'geohook receiver',
  } = checkOptions(options, NAMES)
  const profile = readProfile(receiver.profile)
  const keys = keysOf(signatureKey)
  if (resendTo !== undefined) toAddress(resendTo, 'resendTo')
  return {
    receiver,
    keys: keyringPort(signatureKey)?.keys ?? (() => keys),
    keyCount: keys.length,
    signatureHeader: requireHeaderName(
      receiver.signatureHeader ?? profile.signatureHeader ?? DEFAULT_SIGNATURE_HEADER,
    ),
    secretHeader: readProofHeaders(receiver, { signatureHeader: DEFAULT_SIGNATURE_HEADER, ...profile })
      .secretHeader,
    encoding: receiver.encoding ?? profile.encoding ?? 'auto',
    clock,
    maxRequests,
    maxBytes: readSize('maxBytes', maxBytes),
    resendTo,
    trust: ca === undefined ? undefined : readTrust(ca),
    title,
  }
}

/** Invalid keys are left out: the receiver reports them, and `explain` explains them. */
function keysOf(signatureKey: Partial<ReceiverOptions>['signatureKey']): readonly SignatureKey[] {
  if (typeof signatureKey === 'function') return []
  const keys = toKeyList((signatureKey ?? []) as SignatureKeys)
  if (!Array.isArray(keys)) return []
  return keys.filter((key: unknown) => (typeof key === 'string' && key !== '') || key instanceof Uint8Array)
}

/** @throws {WebhookError} `config_invalid` unless the text is an http or https URL without a user name */
export function toAddress(text: unknown, name = 'the address'): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw configInvalid(`${name} must be a URL that begins with http:// or https://`)
  if (url.username !== '' || url.password !== '')
    throw configInvalid(`${name} must not contain a user name or a password`)
  return url
}

/** Remembers the address that the user entered last. */
export class AddressBook {
  readonly #base: string
  #last: string | undefined

  /** @param base the option `resendTo` */
  constructor(base = '') {
    this.#base = base
  }

  #defaultOf(url: string): string {
    return /^https?:\/\/[^/?#]+$/i.test(this.#base) ? this.#base + pathOf(url) : this.#base
  }

  /** The suggested address for a request; empty without a suggestion. */
  suggest(url: string): string {
    return this.#last ?? this.#defaultOf(url)
  }

  remember(url: string, address: string): void {
    // Otherwise the default for one request would become the address for requests with other paths.
    this.#last = address === this.#defaultOf(url) ? undefined : address
  }
}
