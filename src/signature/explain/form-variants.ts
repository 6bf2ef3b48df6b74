import { fromBinary, utf8 } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import type { Variant } from './explain-types.ts'

/**
 * Returns a form with this body as its `payload` field. If the body itself is a form, also returns the value of its
 * `payload` field.
 */
export function formFieldVariants(binary: string): Variant[] {
  const variants: Variant[] = [[fromBinary(`payload=${binary}`), 'a form whose payload field is this body']]
  const equals = binary.indexOf('=')
  if (equals < 0) return variants
  const rest = binary.slice(equals + 1)
  for (const end of [rest.length, rest.lastIndexOf('&'), rest.indexOf('&')]) {
    if (end < 0) continue
    const field = rest.slice(0, end)
    variants.push([fromBinary(field), 'the payload field alone, as received'])
    variants.push([fromBinary(decodeForm(field)), 'the payload field alone, decoded'])
  }
  return variants
}

/** Yields the body as it may have been before or after a form parser processed it. */
export function* formVariants(binary: string, text: string): Generator<Variant> {
  yield [fromBinary(decodeForm(binary)), 'the decoded form']
  yield [fromBinary(percentDecode(binary)), 'the percent-decoded form']
  for (const fields of fieldLists(text)) {
    const form = fields.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
    for (const encoded of new Set(ENCODERS.map((encodeLike) => encodeLike(form)))) {
      yield [utf8(encoded), 'this body as a percent-encoded form']
      const lower = encoded.replace(/%(.[A-F]|[A-F].)/g, (code) => code.toLowerCase())
      if (lower !== encoded)
        yield [utf8(lower), 'this body as a percent-encoded form with lower-case hex digits']
    }
  }
}

type Fields = readonly (readonly [name: string, value: string])[]

/** The receiver's maximum number of form fields, copied from payload/limits.ts, which signature/ must not import. */
const MAX_FIELDS = 1000

function fieldLists(text: string): Fields[] {
  const pairs = text.split('&', MAX_FIELDS + 1)
  return [
    // The body is the output of a form parser: the payload, or all fields as JSON.
    [['payload', text] as const],
    fieldsOfJson(text),
    // The body is a form that was percent-decoded as a whole. If it had only one field, `&` may be part of its value.
    pairs.map(splitPair),
    pairs.length > 1 ? [splitPair(text)] : [],
    // The body is a form that was parsed and encoded again.
    pairs.length <= MAX_FIELDS && /[%+]/.test(text) ? [...new URLSearchParams(text)] : [],
  ].filter((fields) => fields.length > 0 && fields.length <= MAX_FIELDS)
}

function splitPair(pair: string): readonly [string, string] {
  const equals = pair.indexOf('=')
  return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
}

function fieldsOfJson(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
    const fields = Object.entries(value)
    return fields.every(([, field]) => typeof field === 'string') ? fields : []
  } catch {
    return [] // not JSON
  }
}

const decodeForm = (binary: string): string => percentDecode(binary.replaceAll('+', ' '))

/** Percent-encodes text. Lone surrogates are replaced first, because encodeURIComponent throws for them. */
const encode = (text: string): string => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))

const alsoEncode = (form: string, characters: RegExp): string =>
  form.replace(characters, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const spacesToPlus = (form: string): string => form.replaceAll('%20', '+')

/** Form encoders write a space and the characters `! ' ( ) * ~` in different ways. */
const ENCODERS: readonly ((form: string) => string)[] = [
  (form) => form,
  spacesToPlus,
  // RFC 3986: `quote` in Python, `rawurlencode` in PHP.
  (form) => alsoEncode(form, /[!'()*]/g),
  // `urlencode` in Python, `FormUrlEncodedContent` in .NET.
  (form) => spacesToPlus(alsoEncode(form, /[!'()*]/g)),
  // WHATWG URL: `URLEncoder` in Java.
  (form) => spacesToPlus(alsoEncode(form, /[!'()~]/g)),
]
