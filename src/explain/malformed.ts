import { bodyFormat, MAX_FIELDS } from '../payload/parse.ts'
import { utf8 } from '../shared/bytes.ts'
import { tryJson } from '../shared/json.ts'
import { splitSignedForm } from '../signature/signature.ts'
import { decodeAs, fromBase64, toBinary } from './bytes.ts'
import type { Cause } from './causes.ts'
import { type LooseReading, type Mistake, readLoosely } from './loose-json.ts'
import { found, grouped, isJson, type Refused } from './refusals.ts'
import type { Finding } from './types.ts'

/** Explains why the receiver cannot decode the body. Returns undefined if no hypothesis is certain. */
export function explainMalformed(refused: Refused): Finding | undefined {
  const { body, headers, message } = refused
  const bytes = explainBytes(refused)
  if (bytes) return bytes
  // What the receiver says about a payload that is valid JSON does not quote the payload.
  const sentence = `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`
  if (/deeper/.test(message)) return found('payload_too_deep', sentence)
  if (/forbidden key/.test(message)) return found('payload_forbidden_key', sentence)
  const decoded = decodeAs(body, 'utf-8') as string
  const text = decoded.replace(/^\ufeff/, '')
  const isForm = bodyFormat(headers.get('content-type')) === 'form'
  const reason = isForm
    ? explainForm(refused, text)
    : (explainJson(text, 'body', decoded.length - text.length ? 3 : 0) ?? explainOther(text))
  if (reason || !/handshake token/.test(message)) return reason
  return found('payload_token', 'The body has only characters that a handshake token may have.')
}

/** Finds what is wrong with the bytes of the body, whatever its format. */
function explainBytes({ body, headers }: Refused): Finding | undefined {
  if (body.length === 0) {
    const length = Number(headers.get('content-length'))
    const says = length > 0 ? `, but content-length says ${grouped(length)} bytes` : ''
    return found('payload_empty', `The body is empty${says}.`)
  }
  const start = toBinary(body.subarray(0, 4))
  const format = start.startsWith('\x1f\x8b\x08') ? 'gzip' : start === '(\xb5/\xfd' ? 'Zstandard' : ''
  if (format) {
    const state = headers.has('content-encoding') ? 'does not say so' : 'is missing'
    const evidence = `The body begins like ${format} data, but the header content-encoding ${state}.`
    return found('payload_compressed', evidence)
  }
  if (['utf-16le', 'utf-16be'].some((charset) => isJson(decodeAs(body, charset)?.replace(/^\ufeff/, ''))))
    return found('payload_utf16', 'The body is JSON in UTF-16.')
  const at = invalidUtf8(body)
  if (at < 0) return undefined
  const isLatin1 = isJson(decodeAs(body, 'windows-1252') ?? toBinary(body))
  const charset = isLatin1 ? ' Read as Latin-1 or Windows-1252, the body is JSON.' : ''
  return found('payload_charset', `Byte ${grouped(at)}, counted from 0, is not valid UTF-8.${charset}`)
}

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

/** Decodes a form field. Returns undefined if its bytes are not UTF-8. */
function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function explainForm(refused: Refused, text: string): Finding | undefined {
  if (/^\s*[{[]/.test(text) && ['whole', 'cut', 'more'].includes(readLoosely(text).outcome)) {
    const { evidence = '' } = explainJson(text, 'body') ?? {}
    const what = evidence ? `begins like JSON. ${evidence}` : 'is JSON.'
    return found('content_type_form_for_json', `The content type says form, but the body ${what}`)
  }
  const signed = splitSignedForm(refused.body, refused.field)
  const unsigned = signed ? `payload=${decodeAs(signed.signed, 'utf-8') ?? ''}` : text
  const fields = unsigned.split('&').filter(Boolean)
  if (fields.length === 0) return found('form_empty', 'The form has no fields.')
  if (fields.length > MAX_FIELDS) {
    const count = `The form has ${grouped(fields.length)} fields`
    return found('form_too_many_fields', `${count}; the maximum is ${grouped(MAX_FIELDS)}.`)
  }
  const at = text.search(/%(?![0-9a-f]{2})/i)
  if (at >= 0) {
    const evidence = `The percent sign at character ${grouped(at)} has no two hex digits after it.`
    return found('form_percent_encoding', evidence)
  }
  if (fields.some((field) => field.split('=').some((part) => percentDecode(part) === undefined)))
    return found('form_charset', 'A field contains percent-encoded bytes that are not valid UTF-8.')
  const payloads = fields
    .filter((field) => percentDecode(field.replace(/=.*/s, '')) === 'payload')
    .map((field) => percentDecode(field.replace(/^[^=]*=?/, '')) ?? '')
  const [payload] = payloads
  if (payloads.length > 1)
    return found('form_two_payloads', 'The form has more than one field named payload.')
  if (payload === undefined) return undefined
  if (/^%[57]b/i.test(payload) && isJson(percentDecode(payload)))
    return found('form_double_encoded', 'The field payload is JSON that was percent-encoded twice.')
  return explainJson(payload, 'field payload')
}

/** A form field as programs encode it. */
const FIELD = /^[\w.%+[\]-]+=[^\s"{}<>=]*$/

/** Finds out whether a body that should be JSON is a form. */
function explainOther(text: string): Finding | undefined {
  const isForm =
    (/=./.test(text) && text.split('&').every((field) => FIELD.test(field))) ||
    isJson(/^payload=(.*)$/s.exec(text)?.[1])
  if (!isForm || percentDecode(text.replace(/[{[].*/s, '')) === undefined) return undefined
  return found('content_type_json_for_form', 'The content type says JSON, but the body is a form.')
}

const isStructure = (value: unknown): boolean => typeof value === 'object' && value !== null

/** Each mistake with the cause that it has if it is the first one. */
const MISTAKES: Readonly<Record<Mistake, readonly [cause: Cause, description: string]>> = {
  single_quotes: ['payload_printed', 'a text in single quotes'],
  python_word: ['payload_printed', 'True, False or None, as Python prints them'],
  ruby_arrow: ['payload_printed', 'an arrow (=>) in place of a colon, as Ruby prints it'],
  ruby_nil: ['payload_printed', 'nil, as Ruby prints it'],
  trailing_comma: ['payload_trailing_comma', 'a comma before a closing bracket'],
  comment: ['payload_comment', 'a comment'],
  not_a_number: ['payload_not_a_number', 'NaN, Infinity or undefined'],
  unquoted_name: ['payload_unquoted_name', 'a name without quotes'],
  control_character: ['payload_control_character', 'a control character, such as a line feed, inside a text'],
  escape: ['payload_escape', 'a backslash that begins no valid escape sequence'],
  forbidden_key: ['payload_forbidden_key', 'the forbidden key __proto__'],
  too_deep: ['payload_too_deep', 'more than 64 levels of objects and arrays'],
}

/** What languages print for a value that was not written as JSON. */
const PRINTED: readonly (readonly [pattern: RegExp, description: string])[] = [
  [/^\[object \w{1,40}\](,\[object \w{1,40}\])*$/, 'a JavaScript object that was converted to text'],
  [
    /^(Array|Object|stdClass Object)(\r?\n\s*\(\r?\n[\s\S]*\))?$|^array\(\d+\) \{[\s\S]*\}$/,
    'what PHP prints for an array or object',
  ],
  [/^[aO]:\d{1,9}:[{"][\s\S]*\}$/, 'what serialize of PHP writes'],
  [/^map\[[^"]*\]$/, 'what Go prints for a map'],
  [/^\[(123|91)( \d{1,3}){3,}\]$/, 'what Go prints for the bytes of JSON'],
  [/^b(["'])[\s\S]*\1$/, 'what Python prints for bytes'],
  [
    /^<[\w. <>]{1,100} at 0x[0-9a-f]{4,16}>$|^\{'[^}]{0,500}\bdatetime\.datetime\(/,
    'what Python prints for an object',
  ],
  [/^#<[A-Z][\w:]*[\s:>][\s\S]*$|^\{:\w+ ?=>[\s\S]*\}$/, 'what Ruby prints for an object or hash'],
  [
    /^[{(\w]*\b(serviceName|serviceType|events|eventType|changeTypes?)=[^"]*[)}]$|^(\[+[A-Z][\w$.;]*|([a-z]\w*\.)+[A-Z][\w$]*)@[0-9a-f]{4,8}$/,
    'what Java or Kotlin prints for an object',
  ],
  [/^System\.[\w.]+(`\d\[[\w.,]+\]|\[\])?$/, 'the name of a type, which .NET prints for an object'],
]

/** Maximum number of characters. In a longer text, the repeated groups of the patterns could overflow the stack. */
const MAX_PRINTED = 1024 * 1024

/**
 * Explains why text is not a JSON object or array, most specific first. Returns undefined if no hypothesis is certain.
 *
 * @param noun what the text is: the body or the payload field
 * @param bom number of bytes before the text
 */
function explainJson(text: string, noun: string, bom = 0): Finding | undefined {
  const value = tryJson(text)
  const reading = readLoosely(text)
  const { outcome, mistakes, at } = reading
  const isAlmost = mistakes.size === 0 && /^\s*[{[]/.test(text)
  /** Describes a position without repeating the text. */
  const where = (index: number): string =>
    noun === 'body'
      ? `at byte ${grouped(bom + utf8(text.slice(0, index)).length)}`
      : `at character ${grouped(index)}`

  if (text.trim() === '') {
    const is = text === '' && bom === 0 ? 'is empty' : 'has only white space or a byte order mark'
    return found('payload_empty', `The ${noun} ${is}.`)
  }
  if (/^\ufeff/.test(text) && readLoosely(text.replace(/^\ufeff+/, '')).outcome === 'whole')
    return found('payload_bom', `The ${noun} begins with more than one byte order mark.`)
  if (typeof value === 'string' && isStructure(tryJson(value))) {
    const evidence = `The ${noun} is a JSON string that contains JSON: it was encoded twice.`
    return found('payload_double_encoded', evidence)
  }
  if (value !== undefined && !isStructure(value)) {
    const kind = value === null ? 'null' : `a ${typeof value}`
    const evidence = `The ${noun} is valid JSON, but ${kind} in place of an object or array.`
    return found('payload_scalar', evidence)
  }
  if (isStructure(parseBase64(text))) return found('payload_base64', `The ${noun} is JSON in base64.`)
  if (/^%[57]b/i.test(text) && isStructure(tryJson(percentDecode(text) ?? '')))
    return found('payload_percent_encoded', `The ${noun} is percent-encoded JSON.`)
  const printed = text.length <= MAX_PRINTED && PRINTED.find(([pattern]) => pattern.test(text.trim()))?.[1]
  if (printed) return found('payload_printed', `The ${noun} is ${printed}.`)
  const [, html, xml] = /^\s*<(?:(!doctype html|html)|(\?xml|!--|[a-z][\w:.-]*[\s/>]))/i.exec(text) ?? []
  if ((html ?? xml) !== undefined)
    return found('payload_markup', `The ${noun} is ${html ? 'an HTML page' : 'XML or HTML'}.`)
  if (outcome === 'cut' && isAlmost)
    return found('payload_cut_off', `The JSON in the ${noun} ends early, ${where(at)}.`)
  if (outcome === 'more' && isAlmost) {
    if (isSeriesOfJson(text.slice(at))) {
      const evidence = `The ${noun} has several JSON documents: the first ends ${where(at)}.`
      return found('payload_several', evidence)
    }
    const evidence = `The JSON in the ${noun} is complete ${where(at)}, but text follows.`
    return found('payload_trailing_text', evidence)
  }
  return explainMistakes(reading, text, noun, where)
}

/** Explains text that would be JSON without some mistakes. The evidence names all of them, in order. */
function explainMistakes(
  { outcome, mistakes, at, isStructure }: LooseReading,
  text: string,
  noun: string,
  where: (index: number) => string,
): Finding | undefined {
  const inOrder = [...mistakes].sort(([, a], [, b]) => a - b)
  if (outcome === 'whole' && isStructure && inOrder[0]) {
    const names = inOrder.map(([name, index]) => `${MISTAKES[name][1]} ${where(index)}`)
    const evidence = `The ${noun} has ${names.join(', and ')}, and is JSON otherwise.`
    return found(MISTAKES[inOrder[0][0]][0], evidence)
  }
  if (outcome === 'unclosed') {
    const why = `a quote is missing or escaped, or the end of the ${noun} is cut off`
    return found('payload_malformed', `The ${noun} ends inside a text: ${why}.`)
  }
  if (outcome !== 'invalid' || !/^\s*[{[]/.test(text)) return undefined
  if (/^\s*\{\s*(serviceName|serviceType|events|eventType|changeTypes?|webhookName)\s*:/.test(text)) {
    const evidence = `The names in the ${noun} have no quotes: a shell may have removed them.`
    return found('payload_unquoted_name', evidence)
  }
  const evidence = `The ${noun} begins like JSON, but is no longer JSON ${where(at)}.`
  return found('payload_malformed', evidence)
}

/** Returns true for one or more objects or arrays. */
function isSeriesOfJson(text: string): boolean {
  let rest = text
  for (let count = 0; rest.trim() !== '' && count < 1000; count++) {
    if (!/^\s*[{[]/.test(rest)) return false
    const { outcome, at, mistakes } = readLoosely(rest)
    if ((outcome !== 'more' && outcome !== 'whole') || mistakes.size > 0) return false
    rest = rest.slice(at)
  }
  return text.trim() !== ''
}

function parseBase64(text: string): unknown {
  const bare = text.replace(/\s/g, '')
  if (bare.length < 4 || !/^"?[\w+/-]+={0,2}"?$/.test(bare)) return undefined
  const bytes = fromBase64(bare.replaceAll('"', ''))
  return bytes && tryJson(decodeAs(bytes, 'utf-8') ?? '')
}
