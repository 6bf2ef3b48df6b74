import { type OptionNames, requireKnownOptions } from '../known-options.ts'
import { type Body, toBytes } from './bytes.ts'
import { decodeSignature, requireEncoding, type SignatureEncoding } from './encoding.ts'
import { createKeyring, type Keyring, type SignatureKeys } from './keyring.ts'

/** The code of an invalid signature. */
export type SignatureCode = 'signature_missing' | 'signature_malformed' | 'signature_mismatch'

/** The result of {@link verify}: the index of the matching key, or the reason why no key matched. */
export type Verdict = { ok: true; keyIndex: number } | { ok: false; code: SignatureCode }

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

const NAMES: OptionNames<VerifyOptions> = { body: true, signature: true, signatureKey: true, encoding: true }

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
export async function verify(options: VerifyOptions): Promise<Verdict> {
  requireKnownOptions(options, NAMES)
  const { body, signature, signatureKey, encoding = 'auto' } = options
  requireEncoding(encoding)
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
