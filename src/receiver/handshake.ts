import { importKey } from '#hmac'
import { WebhookError } from '../errors.ts'
import { toBinary, utf8 } from '../signature/bytes.ts'
import { encodeSignature } from '../signature/encoding.ts'
import type { Config } from './options.ts'
import { handshakeOutcome, type Outcome } from './outcome.ts'
import type { RequestHead } from './request.ts'
import { stacklessError } from './stackless-error.ts'

/**
 * Matches a valid token. In a handshake, anyone can choose the text that we sign with the key of the deliveries, so
 * a token that is also a valid body would allow forging a delivery. Therefore tokens exclude characters that every
 * payload needs, and every receiver rejects a body that looks like a token, because receivers can share a key.
 */
const TOKEN = /^[\w.~+/:-]{1,512}={0,2}$/

/** Returns true for a body that is also a valid token: a handshake could have produced its signature. */
export const looksLikeToken = (body: Uint8Array): boolean =>
  body.length <= 514 && body[0] !== 0x7b /* { */ && TOKEN.test(toBinary(body))

/**
 * Answers `GET <hookUrl>?crc_token=T` with the signature of T by the newest key (docs/senders.md, "Handshake"). If
 * the tenant has no key, a decoy key signs, so that responses do not reveal which tenants exist; only the observer
 * sees the error.
 *
 * @throws {WebhookError} `handshake_invalid`, `key_unavailable`
 */
export async function answerHandshake(
  request: RequestHead,
  { findKeys }: Config,
  { parameter, member }: NonNullable<Config['profile']['handshake']>,
): Promise<Outcome> {
  const token = readToken(request.url, parameter)
  if (!TOKEN.test(token)) throw new WebhookError('handshake_invalid')
  const { keyring, count, keyError, secret } = await findKeys(request)
  // Created even if there is a key, so that the response takes the same time in both cases.
  const decoy = importKey(secret + tenantOf(request))
  const error = stacklessError('key_unknown', keyError)
  const hmac = ((count > 0 && keyring[0]) || decoy).start()
  hmac.update(utf8(token))
  const signature = encodeSignature(await hmac.digest(), 'base64', 'sha256=')
  return handshakeOutcome({ [member]: signature }, count > 0 ? undefined : error)
}

/**
 * Identifies the tenant of a request: by its route parameters, or by its path if it has none. Each tenant gets its
 * own decoy that never changes, as with a real key.
 */
function tenantOf({ url, params }: RequestHead): string | undefined {
  const named = JSON.stringify(params ?? {})
  return named === '{}' ? /^(\w+:\/\/[^/]*)?([^?#]*)/.exec(url)?.[2] : named
}

/**
 * Returns the value of the parameter; an invalid token if it is missing or occurs more than once. `+` stays as it is,
 * because it is a base64 character, while URLSearchParams would decode it to a space.
 */
function readToken(url: string, parameter: string): string {
  if (url.length > 8_000) return '' // RFC 9110 section 4.1 recommends supporting this length
  const query = /\?([^#]*)/.exec(url)?.[1]?.replaceAll('+', '%2B')
  return new URLSearchParams(query).getAll(parameter).join()
}
