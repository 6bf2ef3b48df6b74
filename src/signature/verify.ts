import { type Awaitable, all, when } from './awaitable.ts'
import { type Body, toBytes } from './bytes.ts'
import { decodeSignature, requireEncoding, type SignatureEncoding } from './encoding.ts'
import { createKeyring, type Keyring, type SignatureKeys } from './keyring.ts'

/** Why a signature was refused. */
export type SignatureCode = 'signature_missing' | 'signature_malformed' | 'signature_mismatch'

/** Verified, and by which key of the ring; or refused, and why. */
export type Verdict = { ok: true; keyIndex: number } | { ok: false; code: SignatureCode }

/** What {@link verify} takes. */
export interface VerifyOptions {
  /** The exact bytes that arrived; a string means its UTF-8 bytes. */
  body: Body
  /** The value of the signature header, as it came. */
  signature: string | null | undefined
  /** The shared secret, or several while they rotate, newest first. */
  signatureKey: SignatureKeys
  /** Default `'auto'`: 64 hex digits of either case, or 43 or 44 base64 characters, with or without `sha256=`. */
  encoding?: SignatureEncoding | undefined
}

/**
 * Recomputes HMAC-SHA256 over the body and compares it with the signature in constant time
 * (specification, "Payload signature verification", step 4). Nothing that a sender can send makes it throw.
 *
 * @throws {WebhookError} `config_invalid` for an empty key, one of zero bytes, or an unknown encoding, `body_already_parsed` for a parsed body
 * @example
 * ```ts
 * import { sign, verify } from 'geohook'
 *
 * const body = '{"events":[]}'
 * const signature = await sign({ body, signatureKey: 'parcels2026' })
 * await verify({ body, signature, signatureKey: 'parcels2026' }) // { ok: true, keyIndex: 0 }
 * ```
 */
export async function verify({
  body,
  signature,
  signatureKey,
  encoding = 'auto',
}: VerifyOptions): Promise<Verdict> {
  requireEncoding(encoding)
  const keyring = createKeyring(signatureKey)
  const bytes = toBytes(body)
  const decoded = decodeSignature(signature, encoding)
  if (typeof decoded === 'string') return { ok: false, code: decoded }
  const check = startCheck(keyring)
  check.update(bytes)
  const found = check.end(decoded)
  const keyIndex = found instanceof Promise ? await found : found // an await takes longer than what it would wait for
  return keyIndex < 0 ? { ok: false, code: 'signature_mismatch' } : { ok: true, keyIndex }
}

/** A verification under way, fed with the body as it arrives. */
export interface SignatureCheck {
  update(chunk: Uint8Array): void
  /** The key of the ring that made the signature, or -1; a promise where the platform's digest is one. */
  end(signature: Uint8Array): Awaitable<number>
}

/** Begins a verification with every key of the ring. All are computed and compared, whichever matches. */
export function startCheck(keyring: Keyring): SignatureCheck {
  const hmacs = keyring.map((key) => key.start())
  return {
    update(chunk) {
      for (const hmac of hmacs) hmac.update(chunk)
    },
    end(signature) {
      const matches = hmacs.map((hmac) => hmac.matches(signature))
      return when(all(matches), (known) => known.indexOf(true))
    },
  }
}
