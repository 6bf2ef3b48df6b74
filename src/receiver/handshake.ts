import { WebhookError } from '../errors.ts'
import { toBinary, utf8 } from '../signature/bytes.ts'
import { encodeSignature } from '../signature/encoding.ts'
import type { HmacKey } from '../signature/hmac.ts'
import type { Config } from './options.ts'
import { handshakeAnswer, type Outcome } from './outcome.ts'
import type { RequestHead } from './request.ts'
import { findKeys } from './verification.ts'

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
 * Answers `GET <hookUrl>?crc_token=T` with the signature of T by the newest key (field facts, "Signature").
 *
 * @throws {WebhookError} `handshake_invalid`, `key_unknown`, `key_unavailable`
 */
export async function answerHandshake(
  request: RequestHead,
  config: Config,
  { parameter, member }: NonNullable<Config['profile']['handshake']>,
): Promise<Outcome> {
  const token = readToken(request.url, parameter)
  if (token === undefined || !TOKEN.test(token)) throw new WebhookError('handshake_invalid')
  const { keyring, unknown } = await findKeys(request, config)
  if (unknown) throw unknown
  const hmac = (keyring[0] as HmacKey).start()
  hmac.update(utf8(token))
  return handshakeAnswer({ [member]: encodeSignature(await hmac.digest(), 'base64', 'sha256=') })
}

/** A `+` is a character of a base64 token here, where URLSearchParams would make it a space. */
function readToken(url: string, parameter: string): string | undefined {
  const query = /\?([^#]*)/.exec(url)?.[1]?.replaceAll('+', '%2B')
  const tokens = new URLSearchParams(query).getAll(parameter)
  return tokens.length === 1 ? tokens[0] : undefined
}
