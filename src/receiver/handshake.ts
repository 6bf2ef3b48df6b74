import { importKey } from '#hmac'
import { WebhookError } from '../errors.ts'
import { toBinary, utf8 } from '../signature/bytes.ts'
import { encodeSignature } from '../signature/encoding.ts'
import type { Seen } from './observer.ts'
import type { Config } from './options.ts'
import { handshakeOutcome, type Outcome } from './outcome.ts'
import type { RequestHead } from './request.ts'
import { stacklessError } from './stackless-error.ts'

/**
 * Matches a valid token. Handshakes and deliveries use the same key, and anyone can choose the token that we sign. If a
 * token could also be a valid body, an attacker could use its signature to forge a delivery. So tokens exclude
 * characters that every payload needs. A receiver without handshakes also rejects bodies that look like a token,
 * because another receiver with the same key may answer handshakes.
 */
const TOKEN = /^[\w.~+/:-]{1,512}={0,2}$/

/** Returns true for a body that is also a valid token: a handshake could have produced its signature. */
export const looksLikeToken = (body: Uint8Array): boolean =>
  body.length <= 514 && body[0] !== 0x7b /* { */ && TOKEN.test(toBinary(body))

/**
 * Answers `GET <hookUrl>?crc_token=T` with the signature of T, made with the newest key (docs/senders.md, "Handshake").
 * If the tenant has no key, the signature is made with a decoy key, so that responses do not reveal which tenants
 * exist. The observer gets the error `key_unknown`, which senders cannot see.
 *
 * @throws {WebhookError} `handshake_invalid`, `key_unavailable`
 */
export async function answerHandshake(
  seen: Seen,
  { findKeys }: Config,
  { parameter, member }: NonNullable<Config['profile']['handshake']>,
): Promise<Outcome> {
  const token = readToken(seen.request.url, parameter)
  if (!TOKEN.test(token)) throw new WebhookError('handshake_invalid')
  const { keyring, count, tenant, keyError, secret } = await findKeys(seen)
  // Create the decoy even if there is a key, so that the response takes the same time in both cases.
  const decoy = importKey(secret + (tenant ?? guessTenant(seen.request)))
  const error = stacklessError('key_unknown', keyError)
  const hmac = ((count > 0 && keyring[0]) || decoy).start()
  const signature = encodeSignature(await hmac.digest(utf8(token)), 'base64', 'sha256=')
  return handshakeOutcome({ [member]: signature }, count > 0 ? undefined : error)
}

/**
 * Identifies a tenant whose name the key function did not return: by the route parameters or, without any, by the path.
 * Each tenant has its own decoy key, which stays the same while the process runs, as a real key would.
 */
function guessTenant({ url, params }: RequestHead): string | undefined {
  const named = JSON.stringify(params ?? {})
  return named === '{}' ? /^(\w+:\/\/[^/]*)?([^?#]*)/.exec(url)?.[2] : named
}

/**
 * Returns the value of the parameter. If the parameter is missing or occurs more than once, the result is not a valid
 * token. `+` is a base64 character, so it is kept; URLSearchParams alone would decode it to a space.
 */
function readToken(url: string, parameter: string): string {
  if (url.length > 8_000) return '' // RFC 9110 section 4.1 recommends supporting at least 8000
  const query = /\?([^#]*)/.exec(url)?.[1]?.replaceAll('+', '%2B')
  return new URLSearchParams(query).getAll(parameter).join()
}
