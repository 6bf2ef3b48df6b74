// What the target `receiver` expects of a request, computed without code of geohook.
import { hmac, KEY, readSignature, require, requireNoPollution } from './support.mjs'

/** Limit of bodies, in bytes. */
export const LIMIT = 2048
/** The signature header of each profile. */
export const HEADERS = { service: 'x-service', arcgis: 'x-esrihook-signature', portal: 'secret' }
const REASONS_TO_REFUSE = ['content-encoding', 'content-length', 'transfer-encoding']

export function isAuthentic(profile, isStrict, headers, body) {
  const value = [headers[HEADERS[profile]] ?? []].flat().join(', ')
  if (profile === 'portal') return value === KEY
  const keys = isStrict ? [KEY, 'other'] : [KEY]
  const isSigned = (signature, bytes) =>
    typeof signature !== 'string' && keys.some((key) => hmac(key, bytes).equals(signature))
  if (value !== '') return isSigned(readSignature(value), body)
  const contentType = [headers['content-type'] ?? []].flat().join(', ')
  if (!/^\s*application\/x-www-form-urlencoded/i.test(contentType)) return false
  const text = body.toString('latin1')
  const end = text.lastIndexOf('&')
  const [name, ...rest] = text.slice(end + 1).split('=')
  if (!text.startsWith('payload=') || end < 8 || name.toLowerCase() !== HEADERS[profile]) return false
  return isSigned(readSignature(rest.join('=')), body.subarray(8, end))
}

/** True for a JSON object with one signature header, if no other header or limit is a reason to refuse it. */
export function mustAccept({ profile, isStrict, method, headers, body }) {
  if (profile === 'portal' || isStrict || method !== 'POST' || body.length > LIMIT) return false
  const { [HEADERS[profile]]: signature, 'content-type': contentType, ...others } = headers
  if (contentType !== 'application/json' || typeof signature !== 'string') return false
  if (REASONS_TO_REFUSE.some((name) => name in others)) return false
  if (!isAuthentic(profile, isStrict, headers, body)) return false
  try {
    const value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
    requireNoPollution(value)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

export function requireHandshake(profile, url, text) {
  require(profile === 'arcgis', 'a handshake was answered by the profile', profile)
  const query = /\?([^#]*)/.exec(url)?.[1] ?? ''
  const tokens = new URLSearchParams(query.replaceAll('+', '%2B')).getAll('crc_token')
  require(tokens.length === 1, 'a handshake without one token', tokens)
  const [token] = tokens
  require(JSON.parse(text).response_token ===
    `sha256=${hmac(KEY, token).toString('base64')}`, 'the signature', text)
  // Otherwise anyone could let the receiver sign a delivery.
  require(!/[{}[\]"&\s]/.test(token), 'a token that could be a payload was signed', token)
}
