import { importKey } from '#hmac'
import { WebhookError } from '../errors.ts'
import { toBinary, utf8 } from '../signature/bytes.ts'
import { encodeSignature } from '../signature/encoding.ts'
import type { Config } from './options.ts'
import { handshakeOutcome, type Outcome } from './outcome.ts'
import { refusal } from './refusal.ts'
import type { RequestHead } from './request.ts'

/**
 * What a handshake signs. The answer is a signature over a text that anyone may choose, with the key that signs
 * deliveries: a token that could pass as a body would let a stranger have a forged delivery signed. So a token has
 * none of the characters that every payload needs, and a body that looks like a token is refused, by every receiver:
 * the same key may be in use elsewhere.
 */
const TOKEN = /^[\w.~+/:-]{1,512}={0,2}$/

/** Whether bytes that were signed could have been signed by a handshake. */
export const looksLikeToken = (body: Uint8Array): boolean =>
  body.length <= 514 && body[0] !== 0x7b /* { */ && TOKEN.test(toBinary(body))

/**
 * Answers `GET <hookUrl>?crc_token=T` with the signature of T by the newest key (field facts, "Signature"). Where there
 * is no key, a decoy signs, so that the answer does not show which tenants exist; only the observer learns of it.
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
  const { keyring, count, flaw, secret } = await findKeys(request)
  // Both are made for every tenant, so that those with a key take as long.
  const decoy = importKey(secret + tenantOf(request))
  const error = refusal('key_unknown', flaw)
  const hmac = ((count > 0 && keyring[0]) || decoy).start()
  hmac.update(utf8(token))
  const signature = encodeSignature(await hmac.digest(), 'base64', 'sha256=')
  return handshakeOutcome({ [member]: signature }, count > 0 ? undefined : error)
}

/**
 * What tells tenants apart as far as a receiver can know: the route parameters, or without any the path. Decoys must
 * differ between tenants and stay the same for each, as keys do.
 */
function tenantOf({ url, params }: RequestHead): string | undefined {
  const named = JSON.stringify(params ?? {})
  return named === '{}' ? /^(\w+:\/\/[^/]*)?([^?#]*)/.exec(url)?.[2] : named
}

/**
 * The value of the parameter; a text that is no token where it is missing or comes more than once. A `+` is a character
 * of a base64 token here, where URLSearchParams would make it a space.
 */
function readToken(url: string, parameter: string): string {
  if (url.length > 8_000) return '' // as many as servers should take (RFC 9110 section 4.1)
  const query = /\?([^#]*)/.exec(url)?.[1]?.replaceAll('+', '%2B')
  return new URLSearchParams(query).getAll(parameter).join()
}
