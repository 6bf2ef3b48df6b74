import { nearest } from '../options.ts'
import { parse } from '../payload/parse.ts'
import { tryJson } from '../shared/json.ts'
import { count } from '../shared/words.ts'
import { decodeAs } from './bytes.ts'
import type { Cause } from './causes.ts'
import { containsKey, isShown } from './claims.ts'
import type { Context } from './request.ts'
import { type Finding, found } from './types.ts'

/** A refused request, with everything that decides about it after the signature. */
export interface Refused extends Context {
  /** What the receiver's error says, as a phrase without a period. */
  message: string
  /** The cause of the receiver's error, such as the issues of a schema. */
  cause?: unknown
  body: Uint8Array
  method: string
  url: string
  /** The receiver's keys. The evidence must not contain any of them. */
  keys: readonly Uint8Array[]
  /** Maximum body size in bytes. */
  limit: number
}

/** Writes the message of a receiver's error as a sentence. */
export const toSentence = (message: string): string =>
  `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`

/** Writes a number with commas: 1048576 as 1,048,576. */
export const grouped = (value: number): string => value.toLocaleString('en-US')

export const isJson = (text: string | undefined): boolean =>
  text !== undefined && /^\s*[{[]/.test(text) && tryJson(text) !== undefined

const isJsonBody = ({ body }: Refused): boolean => isJson(decodeAs(body, 'utf-8'))

// Evidence names only values from the lists in this file, because a sender could forge log lines with others.

const METHODS = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']

const parameterOf = (url: string, name: string): string[] =>
  new URLSearchParams(/\?([^#]{0,8000})/.exec(url)?.[1]?.replaceAll('+', '%2B')).getAll(name)

export function explainMethod({ method, headers, url }: Refused): Finding | undefined {
  if (method === 'OPTIONS' && headers.has('access-control-request-method')) {
    const evidence =
      'The request is a preflight request of a browser: OPTIONS with the header access-control-request-method.'
    return found('method_preflight', evidence)
  }
  if (method === 'GET' && parameterOf(url, 'crc_token').length > 0) {
    const request = 'The request is a handshake: GET with the parameter crc_token.'
    return found('handshake_not_enabled', `${request} The profile of this receiver has no handshake.`)
  }
  if (!METHODS.includes(method)) return undefined
  return found('method_not_allowed', `The method is ${method} in place of POST.`)
}

export function explainHandshake({ parameter, url }: Refused): Finding | undefined {
  if (parameter === undefined) return undefined
  const [token, ...others] = parameterOf(url, parameter)
  const named = `The parameter ${parameter}`
  if (url.length > 8000)
    return found('handshake_url_too_long', `The URL has ${grouped(url.length)} characters.`)
  const missing = 'whose name is case-sensitive, is missing in the query'
  if (token === undefined) return found('handshake_token_missing', `${named}, ${missing}.`)
  if (others.length > 0)
    return found('handshake_token_doubled', `${named} appears ${others.length + 1} times in the query.`)
  if (token === '') return found('handshake_token_empty', `${named} is empty.`)
  const is =
    token.replace(/={1,2}$/, '').length > 512
      ? `has ${grouped(token.length)} characters; the maximum is 512, and two = after them`
      : 'does not have the form of a token'
  return found('handshake_token_invalid', `${named} ${is}.`)
}

export function explainSize({ headers, body, limit }: Refused): Finding | undefined {
  const length = Number(headers.get('content-length'))
  const isAnnounced = length > limit && length !== body.length
  if (!isAnnounced && body.length <= limit) return undefined
  const size = isAnnounced
    ? `The header content-length says ${grouped(length)} bytes`
    : `The body has ${grouped(body.length)} bytes`
  return found('body_too_large', `${size}; the limit is ${grouped(limit)}.`)
}

const COMPRESSIONS = ['gzip', 'br', 'deflate', 'zstd', 'compress', 'x-gzip']
const OTHER_ENCODINGS = [
  ...['utf-8', 'utf8', 'utf-16', 'iso-8859-1', 'us-ascii', 'ascii', 'base64', 'chunked', 'aws-chunked'],
  ...['8bit', '7bit', 'binary', 'none', 'application/json'],
]

export function explainEncoding(refused: Refused): Finding | undefined {
  const list = (refused.headers.get('content-encoding') ?? '').toLowerCase().split(',')
  const names = list.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity')
  if (names.length === 0 || names.length >= 10) return undefined
  const says = `The header content-encoding says ${names.join(', ')}`
  if (names.every((name) => OTHER_ENCODINGS.includes(name) || isCharset(name)))
    return found('content_encoding_misused', `${says}, which is not a compression.`)
  if (!names.every((name) => COMPRESSIONS.includes(name))) return undefined
  return isJsonBody(refused)
    ? found('content_encoding_wrong', `${says}, but the body is JSON that is not compressed.`)
    : found('content_encoding_unsupported', `${says}.`)
}

/** Returns true for a label of the Encoding standard. Others are not repeated, because they could be any text. */
const isCharset = (label: string): boolean => decodeAs(new Uint8Array(), label) !== undefined

/** Media types that evidence may name. Any other text could be a forged log line. */
const APPLICATIONS = [
  ...['javascript', 'xml', 'x-ndjson', 'jsonl', 'json5', 'jsonc', 'bson', 'ubjson', 'cson', 'yson', 'yaml'],
  ...['octet-stream', 'msgpack', 'cbor'],
]
const TEXTS = ['plain', 'csv', 'html', 'xml', 'javascript', 'yaml']
const KNOWN_TYPES = [
  ...APPLICATIONS.map((name) => `application/${name}`),
  ...TEXTS.map((name) => `text/${name}`),
]

const SUPPORTED = ['application/json', 'application/x-www-form-urlencoded']
const MISSPELT = [
  ...['json', 'application-json', 'application/x-json', 'text-json', 'x-www-form-urlencoded', 'form'],
  ...['application/form-urlencoded', 'application/www-form-urlencoded'],
]

export function explainContentType(refused: Refused): Finding | undefined {
  const type = (refused.headers.get('content-type') ?? '')
    .trim()
    .toLowerCase()
    .replace(/"[^"]*"/g, (quoted) => quoted.replace(/[,;]/g, '_'))
  const essence = type.split(';')[0]?.trim() ?? ''
  const misspelt = (evidence: string): Finding => found('content_type_misspelt', evidence)
  if (type === '') return found('content_type_missing', 'The header content-type is missing or empty.')
  if (/,\s*[\w.+-]{1,50}\/[\w.+-]/.test(type))
    return found('content_type_doubled', 'The header content-type has several values, joined by commas.')
  if (type.includes(',')) return misspelt('The content type has a comma that is not in double quotes.')
  if (essence.startsWith('multipart/'))
    return found('content_type_multipart', 'The content type is a multipart type.')
  const charset = explainCharset(type, essence)
  if (charset) return charset
  const cause = { 'text/plain': 'content_type_text', 'application/octet-stream': 'content_type_binary' }[
    essence
  ]
  if (cause && isJsonBody(refused))
    return found(cause as Cause, `The content type is ${essence}, but the body is JSON.`)
  if (KNOWN_TYPES.includes(essence))
    return found('content_type_unsupported', `The content type is ${essence}.`)
  const [start = ''] = essence.split(/\s/)
  if (start !== essence && SUPPORTED.includes(start))
    return misspelt(`The content type has other text after ${start} without a semicolon.`)
  if (MISSPELT.includes(essence))
    return misspelt(`The content type is ${essence}, which is not a registered type.`)
  const meant = nearest(essence, SUPPORTED)
  return meant === undefined ? undefined : misspelt(`The content type is nearly ${meant}, but not exactly.`)
}

function explainCharset(type: string, essence: string): Finding | undefined {
  const labels = [...type.matchAll(/;\s*charset=([^;]*)/g)].map(([, value = '']) => value)
  const label = labels.find((value) => !/^"?utf-?8(["\s]|$)/.test(value))
  const isKnown = SUPPORTED.includes(essence) || /^(application|text)\/([\w.-]+\+)?json$/.test(essence)
  if (label === undefined || !isKnown) return undefined
  const name = label.replaceAll('"', '').trim()
  const is = isCharset(name)
    ? name
    : name === ''
      ? 'empty'
      : 'not utf-8, but a text that geohook does not know'
  return found('content_type_charset', `The content type says that the charset is ${is}.`)
}

export function explainAge({ body, headers, field, options, now }: Refused): Finding | undefined {
  const { maxAge } = options
  if (maxAge === undefined) return undefined
  const { events } = parse(body, headers.get('content-type'), field)
  const newest = events.reduce((time, { when }) => Math.max(time, when?.getTime() ?? time), -Infinity)
  if (newest === -Infinity) return found('delivery_untimed', 'No event has a valid time.')
  const isFresh = (time: number): boolean => Math.abs(now - time) <= maxAge
  const unit = isFresh(newest * 1000) ? 'seconds' : isFresh(newest / 1000) ? 'microseconds' : undefined
  if (unit) {
    const evidence = `The time of the newest event is right if it is read as ${unit} since 1970.`
    return found('delivery_time_unit', evidence)
  }
  const sent = Date.parse(headers.get('date') ?? '')
  // A date in the past may also be that of a request that was delayed or replayed.
  if (sent - now > maxAge && Math.abs(sent - newest) <= maxAge) {
    const ahead = `${inWords(sent - now)} ahead of that of the receiver`
    return found('delivery_clock', `According to the header date, the clock of the sender is ${ahead}.`)
  }
  const age = newest > now ? `${inWords(newest - now)} in the future` : `${inWords(now - newest)} old`
  const evidence = `The newest event is ${age}; maxAge is ${inWords(maxAge)}.`
  return found(newest > now ? 'delivery_in_future' : 'delivery_too_old', evidence)
}

const PERIODS = Object.entries({ year: 365 * 86400, day: 86400, hour: 3600, minute: 60, second: 1 })

/** Writes a duration in its two largest units, for example `2 hours 5 minutes`. */
function inWords(milliseconds: number): string {
  let left = Math.round(milliseconds / 1000)
  const words = PERIODS.map(([name, size]) => {
    const number = Math.floor(left / size)
    left -= number * size
    return number > 0 ? count(number, name) : ''
  })
  const first = words.findIndex(Boolean)
  if (first < 0) return `${grouped(Math.round(milliseconds))} milliseconds`
  return words
    .slice(first, first + 2)
    .filter(Boolean)
    .join(' ')
}

type PathItem = string | number | symbol | { readonly key?: unknown }

/** Names the first issue of a schema. Its message is the schema's own text, as in the receiver's error. */
export function explainIssues({ cause, message, keys }: Refused): Finding {
  const issues = (Array.isArray(cause) ? cause : []) as { path?: readonly PathItem[] }[]
  const path = pathOf(issues[0]?.path ?? [], keys)
  const count = issues.length === 1 ? 'an issue' : `${issues.length} issues, the first`
  // Limits the text and replaces characters that could fake another line.
  const text = message
    .slice(0, 200)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .trim()
    .replace(/\.$/, '')
  const shown = containsKey(text, keys) ? '' : `: ${text}`
  return found('payload_invalid', `The schema reports ${count}${path && ` at ${path}`}${shown}.`)
}

/** Writes a path like `events[0].when`. Leaves out names that a sender may have chosen to fake other text. */
const pathOf = (path: readonly PathItem[], keys: readonly Uint8Array[]): string =>
  path
    .slice(0, 20)
    .map((item) => {
      const key = typeof item === 'object' ? item.key : item
      if (typeof key === 'number' || /^\d{1,9}$/.test(String(key))) return `[${String(key)}]`
      return typeof key === 'string' && !key.includes('.') && isShown(key, keys) ? `.${key}` : '.…'
    })
    .join('')
    .replace(/^\./, '')
