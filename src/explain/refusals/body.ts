import { bodyFormat, MAX_FIELDS } from '../../payload/parse.ts'
import { toBinary } from '../../shared/bytes.ts'
import { splitSignedForm } from '../../signature/signature.ts'
import { decodeAs } from '../text.ts'
import type { Finding } from '../types.ts'
import { explainJson } from './json.ts'
import { readLoosely } from './loose-json.ts'
import { findReason, grouped, isJson, type Reason, type Refused } from './refused.ts'

/** What is wrong with the bytes of the body, whatever its format. */
const BYTES: readonly Reason<Refused>[] = [
  [
    'payload_empty',
    ({ body, headers }) => {
      const length = Number(headers.get('content-length'))
      if (body.length > 0) return undefined
      return length > 0
        ? `The body is empty, but content-length says ${grouped(length)} bytes.`
        : 'The body is empty.'
    },
  ],
  [
    'payload_compressed',
    ({ headers, body: [first, second, third, fourth] }) =>
      ((first === 0x1f && second === 0x8b && third === 8) ||
        (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd)) &&
      `The body begins like ${first === 0x1f ? 'gzip' : 'Zstandard'} data, but the header content-encoding ${headers.has('content-encoding') ? 'does not say so' : 'is missing'}.`,
  ],
  [
    'payload_utf16',
    ({ body }) =>
      ['utf-16le', 'utf-16be'].some((charset) => isJson(decodeAs(body, charset)?.replace(/^\ufeff/, ''))) &&
      'The body is JSON in UTF-16.',
  ],
  [
    'payload_charset',
    ({ body }) => {
      const at = invalidUtf8(body)
      if (at < 0) return undefined
      const isLatin1 = isJson(decodeAs(body, 'windows-1252') ?? toBinary(body))
      const charset = isLatin1 ? ' Read as Latin-1 or Windows-1252, the body is JSON.' : ''
      return `Byte ${grouped(at)}, counted from 0, is not valid UTF-8.${charset}`
    },
  ],
]

/** Returns the index of the first invalid byte, or -1. */
function invalidUtf8(body: Uint8Array): number {
  if (decodeAs(body, 'utf-8') !== undefined) return -1
  let low = 0
  let high = body.length
  // Finds the longest prefix that is valid, except that its last character may be cut off.
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (isValidPrefix(body.subarray(0, middle))) low = middle
    else high = middle
  }
  // Its last character is the invalid one if it is incomplete there.
  while (decodeAs(body.subarray(0, low), 'utf-8') === undefined) low--
  return low
}

function isValidPrefix(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

/** What the receiver says about a payload that is valid JSON. Its messages do not quote the payload. */
const MESSAGES: readonly Reason<Refused>[] = [
  ['payload_too_deep', ({ message }) => /deeper/.test(message) && sentence(message)],
  ['payload_forbidden_key', ({ message }) => /forbidden key/.test(message) && sentence(message)],
]

const sentence = (message: string): string => `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`

interface Form {
  text: string
  fields: readonly string[]
}

const FORM: readonly Reason<Form>[] = [
  [
    'content_type_form_for_json',
    ({ text }) => {
      if (!isJsonLike(text)) return undefined
      const { evidence = '' } = explainJson(text, 'body') ?? {}
      return `The content type says form, but the body ${evidence ? `begins like JSON. ${evidence}` : 'is JSON.'}`
    },
  ],
  ['form_empty', ({ fields }) => fields.length === 0 && 'The form has no fields.'],
  [
    'form_too_many_fields',
    ({ fields }) =>
      fields.length > MAX_FIELDS &&
      `The form has ${grouped(fields.length)} fields; the maximum is ${grouped(MAX_FIELDS)}.`,
  ],
  [
    'form_percent_encoding',
    ({ text }) => {
      const at = text.search(/%(?![0-9a-f]{2})/i)
      return at >= 0 && `The percent sign at character ${grouped(at)} has no two hex digits after it.`
    },
  ],
  [
    'form_charset',
    ({ fields }) =>
      fields.some((field) => field.split('=').some((part) => percentDecode(part) === undefined)) &&
      'A field contains percent-encoded bytes that are not valid UTF-8.',
  ],
  [
    'form_two_payloads',
    ({ fields }) => payloadsIn(fields).length > 1 && 'The form has more than one field named payload.',
  ],
  [
    'form_double_encoded',
    ({ fields }) => {
      const payload = payloadsIn(fields)[0] ?? ''
      return (
        /^%[57]b/i.test(payload) &&
        isJson(percentDecode(payload)) &&
        'The field payload is JSON that was percent-encoded twice.'
      )
    },
  ],
]

/** Returns true for a body that is JSON, or JSON with mistakes. */
const isJsonLike = (text: string): boolean =>
  /^\s*[{[]/.test(text) && ['whole', 'cut', 'more'].includes(readLoosely(text).outcome)

function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

const payloadsIn = (fields: readonly string[]): string[] =>
  fields
    .filter((field) => percentDecode(field.replace(/=.*/s, '')) === 'payload')
    .map((field) => percentDecode(field.replace(/^[^=]*=?/, '')) ?? '')

function explainForm(refused: Refused, text: string): Finding | undefined {
  const signed = splitSignedForm(refused.body, refused.field)
  const unsigned = signed ? `payload=${decodeAs(signed.signed, 'utf-8') ?? ''}` : text
  const fields = unsigned.split('&').filter(Boolean)
  const found = findReason(FORM, { text, fields })
  if (found) return found
  const [payload] = payloadsIn(fields)
  return payload === undefined ? undefined : explainJson(payload, 'field payload')
}

/** Explains why the receiver cannot decode the body. Returns undefined if no hypothesis is certain. */
export function explainBody(refused: Refused): Finding | undefined {
  const { body, headers, message } = refused
  const found = findReason(BYTES, refused) ?? findReason(MESSAGES, refused)
  if (found) return found
  const decoded = decodeAs(body, 'utf-8') as string
  const hasBom = decoded.startsWith('\ufeff')
  const text = hasBom ? decoded.slice(1) : decoded
  if (bodyFormat(headers.get('content-type')) === 'form') return explainForm(refused, text) ?? token(message)
  return explainJson(text, 'body', hasBom ? 3 : 0) ?? findReason(NOT_JSON, text) ?? token(message)
}

const token = (message: string): Finding | undefined =>
  /handshake token/.test(message)
    ? {
        cause: 'payload_token',
        evidence: 'The body has only characters that a handshake token may have.',
      }
    : undefined

/** A form field as programs encode it. */
const FIELD = /^[\w.%+[\]-]+=[^\s"{}<>=]*$/

/** What a body may be that should be JSON and is not. */
const NOT_JSON: readonly Reason<string>[] = [
  [
    'content_type_json_for_form',
    (text) =>
      ((/=./.test(text) && text.split('&').every((field) => FIELD.test(field))) ||
        isJson(/^payload=(.*)$/s.exec(text)?.[1])) &&
      percentDecode(text.replace(/[{[].*/s, '')) !== undefined &&
      'The content type says JSON, but the body is a form.',
  ],
]
