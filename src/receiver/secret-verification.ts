import { importKey } from '#hmac'
import { parse } from '../payload/parse.ts'
import { fromBinary, toBinary, utf8 } from '../signature/bytes.ts'
import { decodeSignature } from '../signature/encoding.ts'
import { isEmpty, type Keyring } from '../signature/keyring.ts'
import { DEFAULT_SIGNATURE_HEADER } from '../signature/signature-header.ts'
import { type HeaderBag, readHeader } from './headers.ts'
import type { FoundKeys } from './keys.ts'
import type { Seen } from './observer.ts'
import type { Config } from './options.ts'
import type { RequestHead } from './request.ts'
import { stacklessError } from './stackless-error.ts'
import { proveUnsigned, requireKey, startWithKeys, toProof, type Verification } from './verification.ts'

/** Maximum size in bytes of the body of a registration. */
const MAX_REGISTRATION = 4096

/**
 * Checks the key that the sender has put into a header. The body is not signed, so nothing proves that it was not
 * changed. The delivery has the same id as a signed one.
 *
 * The registration of a webhook is accepted without the header too, because nothing is handled then (docs/decisions.md,
 * "Portal webhooks").
 *
 * @throws {WebhookError} `signature_missing`, `signature_mismatch`, `key_unknown`, `key_unavailable`
 */
export async function startSecretVerification(
  seen: Seen,
  config: Config,
  headers: HeaderBag,
): Promise<Verification> {
  const secret = readHeader(headers, config.secretHeader as string)
  if (secret === undefined || isEmpty(secret)) return startMissing(seen, config)
  return startWithKeys(config.findKeys(seen), async (keys) => {
    const keyIndex = await findKey(secret, keys.keyring)
    requireKey(keyIndex, keys)
    // Hashing with only the matching key reveals nothing, because the sender has proved that it has the key.
    const hmac = keys.keyring[keyIndex]!.start()
    return {
      update: hmac.update.bind(hmac),
      async end(body) {
        if (isRegistration(body) && !hasEvents(body, seen.request)) return undefined
        return toProof(toDigest(await hmac.digest(body)), keys.tenant, keyIndex)
      },
    }
  })
}

function startMissing(
  seen: Seen,
  { acceptUnsigned, findKeys }: Config,
): Verification | Promise<Verification> {
  const start = (keys?: FoundKeys): Verification => ({
    update() {},
    async end(body) {
      if (isRegistration(body) && !(keys && hasEvents(body, seen.request))) return undefined
      if (!keys) throw stacklessError('signature_missing')
      return proveUnsigned(body, keys)
    },
  })
  return acceptUnsigned ? startWithKeys(findKeys(seen), start) : start()
}

/** Random bytes, created on the first request, because Cloudflare Workers cannot generate them before it. */
let challenge: Uint8Array | undefined

/**
 * Returns the index of the key that equals the text, or -1. Compares HMACs of random bytes, so the time of a comparison
 * depends neither on the keys nor on how much of one is right, and every key is tried. The lengths are compared too,
 * because different keys can have the same HMAC, for example with and without zero bytes at the end (RFC 2104).
 */
async function findKey(secret: string, keyring: Keyring): Promise<number> {
  challenge ??= crypto.getRandomValues(new Uint8Array(32))
  const given = importKey(toBytes(secret))
  const digest = toDigest(await given.start().digest(challenge))
  const matches = await Promise.all(
    keyring.map((key) => key.start().matches(challenge as Uint8Array, digest)),
  )
  return keyring.findIndex((key, index) => matches[index] && key.length === given.length)
}

const toDigest = (hex: string): Uint8Array => decodeSignature(hex, 'hex') as Uint8Array

/** Platforms decode headers as Latin-1: one character per byte. Text with other characters was decoded as UTF-8. */
const toBytes = (text: string): Uint8Array => (/[^\0-\xff]/.test(text) ? utf8(text) : fromBinary(text))

/** The name of a member, in JSON or in a form. */
const REGISTRATION = /(?:"|%22)WebhookRegistry(?:"|%22)[\s+]*(?::|%3[Aa])/

/** The events of a delivery are objects. A registration may list the names of events. */
const EVENTS = /(?:"|%22)events(?:"|%22)[\s+]*(?::|%3[Aa])[\s+]*(?:\[|%5[Bb])[\s+]*(?:\{|%7[Bb])/

/**
 * Returns true for a body that looks like a registration: it has a member `WebhookRegistry`. The body is not parsed,
 * because its sender may be unknown.
 */
const isRegistration = (body: Uint8Array): boolean =>
  body.length <= MAX_REGISTRATION && REGISTRATION.test(toBinary(body))

/**
 * True if the body is a delivery with events, or looks like one that cannot be decoded, whose sender gets the error.
 * Parses the body, so call it only for a sender that may send deliveries.
 */
function hasEvents(body: Uint8Array, { headers }: RequestHead): boolean {
  try {
    return parse(body, readHeader(headers, 'content-type'), DEFAULT_SIGNATURE_HEADER).changeTypes.length > 0
  } catch {
    return EVENTS.test(toBinary(body))
  }
}
