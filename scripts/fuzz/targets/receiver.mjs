// receive() and fetch() never throw, and respond with a documented status. A 2xx is sent only if node:crypto computes
// the same signature over the raw bytes (with the profile `portal`: if the key is right), and for a handshake whose
// token could not be a payload. Handlers run for no other request. A signed JSON object is always accepted. Responses
// never contain the key, and all 401 are the same.
//
// An input is like an HTTP request: a character that selects the receiver, the method, the URL, header lines, an empty
// line, and the body. `{form}` at the end of the body is replaced by the signature of a form.
import { createReceiver } from '../../../src/receiver/receiver.ts'
import { fill, hmac, KEY, readSignature, require, requireNoPollution } from './support.mjs'

// What the target `receiver` expects of a request, computed without code of geohook.

/** Limit of bodies, in bytes. */
const LIMIT = 2048
/** The signature header of each profile. */
const HEADERS = { service: 'x-service', arcgis: 'x-esrihook-signature', portal: 'secret' }
const REASONS_TO_REFUSE = ['content-encoding', 'content-length', 'transfer-encoding']

function isAuthentic(profile, isStrict, headers, body) {
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
function mustAccept({ profile, isStrict, method, headers, body }) {
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

function requireHandshake(profile, url, text) {
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

const STATUSES = [200, 400, 401, 405, 413, 415]
const UNAUTHORIZED = '{"title":"Unauthorized","status":401,"code":"unauthorized"}'
const ignore = () => {}
const observer = {
  refused: ignore,
  failed: ignore,
  handled: ignore,
  unhandled: ignore,
  handshake: ignore,
  duplicate: ignore,
}

let handled = 0
/** The headers of the first 401 of receive() and of fetch(). */
const headersOf401 = []
const create = (options) =>
  createReceiver({
    signatureKey: KEY,
    limit: LIMIT,
    observer,
    clock: () => 1_730_385_704_000,
    ...options,
  }).on('*', () => {
    handled++
  })
const RECEIVERS = [
  { profile: 'service', receiver: create({}) },
  { profile: 'arcgis', receiver: create({ profile: 'arcgis' }) },
  { profile: 'portal', receiver: create({ profile: 'portal' }) },
  { profile: 'service', isStrict: true, receiver: create({ maxAge: 60_000, signatureKey: [KEY, 'other'] }) },
]

export const words = [
  ...[
    '{hex}',
    '{base64}',
    '{key}',
    '{form}',
    'sha256=',
    'GET',
    'POST',
    'x-service',
    'x-esriHook-Signature',
    'secret',
  ],
  ...[
    'content-type',
    'content-encoding',
    'content-length',
    'transfer-encoding',
    'gzip',
    'identity',
    'crc_token=',
  ],
  ...['application/json', 'application/x-www-form-urlencoded', 'payload=', '&x-service=', 'WebhookRegistry'],
]
const EVENT = '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}'
export const seeds = [
  `0POST /hook\nx-service: {hex}\ncontent-type: application/json\n\n${EVENT}`,
  `3POST /hook\nx-service: sha256={base64}\ncontent-type: application/json\n\n${EVENT}`,
  `1POST /hook\nx-esriHook-Signature: sha256={base64}\ncontent-type: application/json\n\n${EVENT}`,
  '1GET /hook?crc_token=abc+d%2F\n\n',
  `2POST /hook\nsecret: {key}\ncontent-type: application/json\n\n${EVENT}`,
  '2POST /hook\ncontent-type: application/json\n\n{"WebhookRegistry":1}',
  `0POST /hook\ncontent-type: application/x-www-form-urlencoded\n\npayload=${encodeURIComponent(EVENT)}&x-service={form}`,
  `4POST /hook\nx-service: {hex}\ncontent-type: application/json\n\n${EVENT}`,
  '5GET /hook?crc_token=abc\n\n',
]

export async function run(input) {
  const given = read(input)
  if (!given) return
  const { profile, receiver, isStrict, viaFetch, body } = given
  const calls = handled
  const response = viaFetch
    ? await fetchWith(receiver, given)
    : await receiver[Symbol.for('geohook.receiver')].receive(toRequest(given))
  if (!response) return
  const { status } = response
  const text = viaFetch ? await response.text() : response.body

  require(STATUSES.includes(status), 'undocumented status', status)
  const { method, url, headers } = given // fetchWith changes them
  const sent = JSON.stringify(viaFetch ? [...response.headers] : Object.entries(response.headers))
  require(!`${text} ${sent}`.includes(KEY), 'the response contains the key')
  if (status === 401) {
    require(text === UNAUTHORIZED, 'a 401 differs', text)
    headersOf401[Number(viaFetch)] ??= sent
    require(sent === headersOf401[Number(viaFetch)], 'the headers of a 401 differ', sent)
  }
  if (status !== 200) {
    require(handled === calls, 'a handler ran, but the status is', status)
    require(!mustAccept(given), 'a signed JSON object was refused', status, text)
    return
  }
  if (method === 'GET') return requireHandshake(profile, url, text)
  require(method === 'POST', 'method', method)
  if (text === '{"status":"registered"}')
    return require(profile === 'portal' && handled === calls, 'a registration was accepted')
  require(handled > calls, 'no handler ran', text)
  require(isAuthentic(profile, isStrict, headers, body), 'a request without a valid signature was accepted')
}

function read(input) {
  const end = input.indexOf('\n\n')
  if (end < 0) return undefined
  const [first, ...lines] = input.toString('latin1', 0, end).split('\n')
  const [, selector, method, url] = /^(.)(\S*) (.*)$/s.exec(first) ?? []
  if (selector === undefined) return undefined
  const number = selector.charCodeAt(0) & 7
  const { profile, receiver, isStrict } = RECEIVERS[number & 3]
  const body = fillForm(input.subarray(end + 2))
  const headers = Object.create(null)
  for (const line of lines) {
    const [, name, value] = /^([^:]*): ?(.*)$/s.exec(line) ?? []
    if (!name) continue
    const key = name.toLowerCase()
    const text = fill(value, body)
    headers[key] = key in headers ? [headers[key], text].flat() : text
  }
  return { profile, receiver, isStrict, viaFetch: number > 3, method, url, headers, body }
}

/** Replaces `{form}` at the end of a body by the signature of the bytes between `payload=` and the last `&`. */
function fillForm(body) {
  const mark = body.subarray(-6).toString('latin1')
  if (mark !== '{form}') return body
  const signed = body.subarray('payload='.length, Math.max('payload='.length, body.lastIndexOf('&')))
  return Buffer.concat([body.subarray(0, -6), Buffer.from(hmac(KEY, signed).toString('hex'))])
}

const toRequest = ({ method, url, headers, body }) => ({
  method,
  url,
  headers,
  read({ onChunk }) {
    const middle = body.length >> 1
    for (const chunk of [body.subarray(0, middle), body.subarray(middle)]) onChunk(chunk)
    return body
  },
})

/** Returns undefined for an input that cannot be a web request. */
function fetchWith(receiver, given) {
  const { method, url, headers, body } = given
  try {
    const pairs = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one]))
    const request = new Request(`http://a${url}`, {
      method,
      headers: pairs,
      ...(body.length > 0 ? { body } : {}),
    })
    // Web requests trim the values of headers, write some methods in upper case, and remove tabs from the URL.
    given.headers = Object.fromEntries(request.headers)
    given.method = request.method
    given.url = request.url
    return receiver.fetch(request)
  } catch {
    return undefined
  }
}
