import { importKey } from '#hmac'
import { fromBinary, toBinary, utf8 } from '../signature/bytes.ts'
import { decodeSignature } from '../signature/encoding.ts'
import { isEmpty, type Keyring } from '../signature/keyring.ts'
import { startCheck } from '../signature/verify.ts'
import { type HeaderBag, readHeader } from './headers.ts'
import type { Config } from './options.ts'
import type { RequestHead } from './request.ts'
import { requireKey, startUnsigned, toId, type Verification } from './verification.ts'

/** Maximum size in bytes of the body of a registration. */
const MAX_REGISTRATION = 4096

/**
 * Checks the key that the sender has put into a header, before the body is read. The body is not signed: it has the id
 * that a signature would have given it, but nothing proves that it was not changed.
 *
 * The registration of a webhook is accepted without the header too, because nothing is handled then (docs/decisions.md,
 * "Portal webhooks").
 *
 * @throws {WebhookError} `signature_missing`, `signature_mismatch`, `key_unknown`, `key_unavailable`
 */
export async function startSecretVerification(
  request: RequestHead,
  config: Config,
  headers: HeaderBag,
): Promise<Verification> {
  const secret = readHeader(headers, config.secretHeader as string)
  if (secret === undefined || isEmpty(secret)) return startMissing(config)
  const keys = await config.findKeys(request)
  const keyIndex = await findKey(secret, keys.keyring)
  requireKey(keyIndex, keys)
  // Hashing with only the matching key reveals nothing, because the sender has proved that it has the key.
  const hmac = keys.keyring[keyIndex]!.start()
  return {
    update: hmac.update.bind(hmac),
    async end(body) {
      if (isRegistration(body)) return undefined
      return { id: await toId(toDigest(await hmac.digest())), keyIndex }
    },
  }
}

function startMissing(config: Config): Verification {
  return {
    update() {},
    end: async (body) => (isRegistration(body) ? undefined : startUnsigned(config).end(body)),
  }
}

/** Random bytes, created on the first request, because Cloudflare Workers cannot generate them before it. */
let challenge: Uint8Array | undefined

/**
 * Returns the index of the key that equals the text, or -1. Compares HMACs of random bytes, so the time of a comparison
 * depends neither on the keys nor on how much of one is right, and every key is tried.
 */
async function findKey(secret: string, keyring: Keyring): Promise<number> {
  challenge ??= crypto.getRandomValues(new Uint8Array(32))
  const given = importKey(toBytes(secret)).start()
  given.update(challenge)
  const check = startCheck(keyring)
  check.update(challenge)
  return check.end(toDigest(await given.digest()))
}

const toDigest = (hex: string): Uint8Array => decodeSignature(hex, 'hex') as Uint8Array

/** Platforms decode headers as Latin-1: one character per byte. Text with other characters was decoded as UTF-8. */
const toBytes = (text: string): Uint8Array => (/[^\0-\xff]/.test(text) ? utf8(text) : fromBinary(text))

/**
 * Returns true for a body that registers a webhook: it contains the word `WebhookRegistry`, and lacks a member that
 * every delivery of an organization has. Nothing is parsed, because the sender may not have proved who it is.
 */
function isRegistration(body: Uint8Array): boolean {
  if (body.length > MAX_REGISTRATION) return false
  const text = toBinary(body)
  return text.includes('WebhookRegistry') && !(text.includes('info') && text.includes('events'))
}
