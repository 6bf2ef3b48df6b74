import { configInvalid } from '../errors.ts'
import { checkOptions, isText, type OptionNames, oneOf, type Rule } from '../options.ts'
import { type Body, toBase64, toBinary, toBytes } from '../shared/bytes.ts'
import { isHeaderName } from '../shared/headers.ts'
import { createKeyring, type Keyring, type SignatureKey, type SignatureKeys } from './keyring.ts'

/** The rule of a {@link SignatureEncoding}. */
export const isEncoding: Rule = /* @__PURE__ */ oneOf('auto', 'hex', 'base64')

/** The code of an invalid signature. */
export type SignatureCode = 'signature_missing' | 'signature_malformed' | 'signature_mismatch'

/** The result of {@link verify}: the index of the matching key, or the reason why no key matched. */
export type VerifyResult = { ok: true; keyIndex: number } | { ok: false; code: SignatureCode }

/** Options of {@link verify}. */
export interface VerifyOptions {
  /** The exact bytes that arrived; a string means its UTF-8 bytes. */
  body: Body
  /** The value of the signature header, unchanged. */
  signature: string | null | undefined
  /** The shared secret, or several during a rotation, newest first. */
  signatureKey: SignatureKeys
  /**
   * Default `'auto'`: accepts 64 hex digits of either case, or 43 or 44 base64 characters, each with or without the
   * prefix `sha256=`.
   */
  encoding?: SignatureEncoding | undefined
}

const VERIFY_OPTIONS: OptionNames<VerifyOptions> = {
  body: true,
  signature: true,
  signatureKey: true,
  encoding: isEncoding,
}

/**
 * Recomputes HMAC-SHA256 over the body and compares it with the signature in constant time (docs/specification.md,
 * "Signature", step 4). Input from a sender never makes it throw.
 *
 * @throws {WebhookError} `config_invalid` for an invalid key, or an unknown option or encoding; `body_already_parsed` for a body
 *   that is neither bytes nor a string
 * @example
 * ```ts
 * import { sign, verify } from 'geohook'
 *
 * const body = '{"events":[]}'
 * const signature = await sign({ body, signatureKey: 'parcels2026' })
 * await verify({ body, signature, signatureKey: 'parcels2026' }) // { ok: true, keyIndex: 0 }
 * ```
 */
export async function verify(options: VerifyOptions): Promise<VerifyResult> {
  const { body, signature, signatureKey, encoding } = checkOptions(options, VERIFY_OPTIONS)
  const keyring = toKeyring(signatureKey)
  const bytes = toBytes(body)
  const decoded = decodeSignature(signature, encoding)
  if (typeof decoded === 'string') return { ok: false, code: decoded }
  const result = startCheck(keyring).end(bytes, decoded)
  const keyIndex = typeof result === 'number' ? result : await result // a needless await would take a tick
  return keyIndex < 0 ? { ok: false, code: 'signature_mismatch' } : { ok: true, keyIndex }
}

/**
 * The key of the previous call. Most programs verify with a single key, and importing a key takes as long as signing a
 * small body.
 */
let previous: { signatureKey: SignatureKeys; keyring: Keyring } | undefined

function toKeyring(signatureKey: SignatureKeys): Keyring {
  // Only a string key is cached: the contents of a list or of bytes can change between two calls.
  if (typeof signatureKey !== 'string') return createKeyring(signatureKey)
  if (previous?.signatureKey !== signatureKey)
    previous = { signatureKey, keyring: createKeyring(signatureKey) }
  return previous.keyring
}

/** The verification of one body. */
export interface SignatureCheck {
  /** Hashes the next part of the body before the rest arrives. Calls are optional. Keeps no reference to the bytes. */
  update(part: Uint8Array): void
  /**
   * Returns the index of the key that made the signature, or -1 if no key matches. Returns a promise if the platform
   * computes HMACs asynchronously.
   */
  end(body: Uint8Array, signature: Uint8Array): number | Promise<number>
}

/** Starts a verification with all keys. Computes and compares the HMAC of every key, even after a match. */
export function startCheck(keyring: Keyring): SignatureCheck {
  const hmacs = keyring.map((key) => key.start())
  return {
    update(part) {
      for (const hmac of hmacs) hmac.update(part)
    },
    end(body, signature) {
      const matches = hmacs.map((hmac) => hmac.matches(body, signature))
      // Await only if the platform returns promises: awaiting would take longer than the HMAC of a small body.
      if (matches[0] instanceof Promise) return Promise.all(matches).then((all) => all.indexOf(true))
      return matches.indexOf(true)
    },
  }
}

/** Options of {@link sign}. */
export interface SignOptions {
  /** The exact bytes to send; a string means its UTF-8 bytes. */
  body: Body
  /** The shared secret. It must not be empty, blank, or all zero bytes. */
  signatureKey: SignatureKey
  /** Encoding of the signature. Default `'hex'`, in lower case. */
  encoding?: 'hex' | 'base64' | undefined
  /** Prefix of the signature, for example `'sha256='`. Default `''`. */
  prefix?: string | undefined
}

const SIGN_OPTIONS: OptionNames<SignOptions> = {
  body: true,
  signatureKey: true,
  encoding: /* @__PURE__ */ oneOf('hex', 'base64'),
  prefix: isText,
}

/**
 * Computes the signature of a body: HMAC-SHA256 (RFC 2104; docs/specification.md, "Signature", step 2), encoded as a
 * header value.
 *
 * @throws {WebhookError} `config_invalid` for an unknown option, or an invalid key, encoding or prefix; `body_already_parsed` for a body
 *   that is neither bytes nor a string
 * @example
 * ```ts
 * import { sign } from 'geohook'
 *
 * await sign({ body: '{"events":[]}', signatureKey: 'parcels2026' })
 * ```
 */
export async function sign(options: SignOptions): Promise<string> {
  const { body, signatureKey, encoding = 'hex', prefix = '' } = checkOptions(options, SIGN_OPTIONS)
  const [key] = createKeyring([signatureKey])
  return encodeSignature(await key!.start().digest(toBytes(body)), encoding, prefix)
}

/** The encoding of a signature: `hex`, `base64` (RFC 4648 section 4), or `auto` to accept both. */
export type SignatureEncoding = 'auto' | 'hex' | 'base64'

const PREFIX = 'sha256='

/**
 * Values with this many characters or more are not percent-decoded, because decoding 64 KB takes up to 30 ms.
 * Signatures are shorter.
 */
const MAX_PERCENT_ENCODED = 300

/**
 * Decodes the value of a signature header to exactly 32 bytes. With `auto`, the length distinguishes hex from
 * base64.
 *
 * Some senders percent-encode the value (docs/senders.md, "Signature"): it is percent-decoded once. `+` is not decoded
 * to a space, because it is a base64 character.
 *
 * @returns the 32 bytes, or an error code
 */
export function decodeSignature(
  value: unknown,
  encoding: SignatureEncoding = 'auto',
): Uint8Array | 'signature_missing' | 'signature_malformed' {
  if (value === undefined || value === null || value === '') return 'signature_missing'
  if (typeof value !== 'string') return 'signature_malformed'
  const plain = value.includes('%') && value.length < MAX_PERCENT_ENCODED ? percentDecode(value) : value
  const text = plain.startsWith(PREFIX) ? plain.slice(PREFIX.length) : plain
  const bytes =
    (encoding !== 'base64' && decode(text, HEX, 4)) ||
    (encoding !== 'hex' && decode(text.endsWith('=') ? text.slice(0, -1) : text, BASE64, 6))
  return bytes || 'signature_malformed'
}

/** Encodes a digest, given as 64 hex digits, as the value of a signature header. */
export function encodeSignature(hex: string, encoding: 'hex' | 'base64', prefix: string): string {
  return prefix + (encoding === 'hex' ? hex : toBase64(decode(hex, HEX, 4) as Uint8Array))
}

/** Replaces each `%XX` with the character whose code is XX. Invalid sequences are kept. */
export function percentDecode(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Maps the character code of each digit to its value plus one, and other codes to 0. */
const toAlphabet = (toValue: (digit: string) => number): Uint8Array =>
  Uint8Array.from({ length: 128 }, (_, code) => toValue(String.fromCharCode(code)) + 1)

const HEX = /* @__PURE__ */ toAlphabet((digit) => Number.parseInt(digit, 16))
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const BASE64 = /* @__PURE__ */ toAlphabet((digit) =>
  `${LETTERS}${LETTERS.toLowerCase()}0123456789+/`.indexOf(digit),
)

/**
 * Decodes text to 32 bytes; returns `undefined` if its length or a character is invalid. Node's own decoders do not
 * reject invalid characters: `Buffer.from('zz', 'hex')` is empty. Unused bits must be zero, so that different base64
 * texts never decode to the same bytes.
 */
function decode(text: string, alphabet: Uint8Array, bitsPerCharacter: 4 | 6): Uint8Array | undefined {
  if (text.length !== Math.ceil(256 / bitsPerCharacter)) return undefined
  const bytes = new Uint8Array(32)
  let signs = 0
  let bits = 0
  let bitCount = 0
  for (let i = 0; i < text.length; i++) {
    const value = (alphabet[text.charCodeAt(i)] ?? 0) - 1
    signs |= value // negative if any character is invalid
    bits = (bits << bitsPerCharacter) | value
    bitCount = (bitCount + bitsPerCharacter) & 7
    bytes[(i * bitsPerCharacter) >> 3] = bits >> bitCount // an incomplete byte is overwritten on the next iteration
  }
  return signs < 0 || bits & ((1 << bitCount) - 1) ? undefined : bytes
}

/** A form body that contains its own signature. */
interface SignedForm {
  /** The bytes that the signature covers. */
  signed: Uint8Array
  /** The value of the signature field, still percent-encoded. */
  signature: string
}

const PAYLOAD = 'payload='
const AMPERSAND = 0x26

/**
 * Maximum number of bytes read as the value of the signature field. A valid signature has at most about 200 bytes, even
 * if it is percent-encoded.
 */
const MAX_SIGNATURE = 512

/**
 * Splits the body `payload=<bytes>&<field>=<signature>` (docs/senders.md, "Signature") at the last `&`: the JSON before
 * that `&` may itself contain unencoded `&` and `=`. The signature covers the raw bytes between `payload=` and the last
 * `&`.
 *
 * @param field name of the signature field, case-insensitive
 * @returns undefined if the body does not have this structure
 */
export function splitSignedForm(body: Uint8Array, field: string): SignedForm | undefined {
  if (toBinary(body.subarray(0, PAYLOAD.length)) !== PAYLOAD) return undefined
  const end = body.lastIndexOf(AMPERSAND)
  const tail = toBinary(body.subarray(end + 1, end + 1 + field.length + MAX_SIGNATURE))
  const name = tail.slice(0, field.length + 1).toLowerCase()
  if (end < PAYLOAD.length || name !== `${field.toLowerCase()}=`) return undefined
  return { signed: body.subarray(PAYLOAD.length, end), signature: tail.slice(name.length) }
}

/**
 * Returns the name of a header if it is a token (RFC 9110 section 5.6.2).
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireHeaderName(name: string, option = 'signatureHeader'): string {
  if (typeof name === 'string' && isHeaderName(name)) return name
  throw configInvalid(`${option} is not a valid HTTP header name`)
}
