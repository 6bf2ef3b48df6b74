import { fromBinary, utf8 } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import type { Variant } from './recompute.ts'

/** The whole form in place of its payload field, or the other way round. */
export function formFieldVariants(binary: string): Variant[] {
  const variants: Variant[] = [[fromBinary(`payload=${binary}`), 'a form whose payload field is this body']]
  const equals = binary.indexOf('=')
  if (equals < 0) return variants
  const whole = binary.slice(equals + 1)
  for (const end of [whole.length, whole.lastIndexOf('&'), whole.indexOf('&')]) {
    if (end < 0) continue
    const field = whole.slice(0, end)
    variants.push([fromBinary(field), 'the payload field alone, as received'])
    variants.push([fromBinary(decodeForm(field)), 'the payload field alone, decoded'])
  }
  return variants
}

/** The form before or after a form parser. */
export function* formVariants(binary: string, text: string): Generator<Variant> {
  yield [fromBinary(decodeForm(binary)), 'the form, decoded']
  yield [fromBinary(percentDecode(binary)), 'the form, percent-decoded']
  for (const fields of fieldLists(text)) {
    const form = fields.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
    for (const written of new Set(WRITERS.map((write) => write(form)))) {
      yield [utf8(written), 'this body as a percent-encoded form']
      const lower = written.replace(/%(.[A-F]|[A-F].)/g, (code) => code.toLowerCase())
      if (lower !== written) yield [utf8(lower), 'this body as a percent-encoded form, in lower case']
    }
  }
}

type Fields = readonly (readonly [name: string, value: string])[]

/** As many as a receiver takes. */
const MAX_FIELDS = 1000

function fieldLists(text: string): Fields[] {
  const pairs = text.split('&', MAX_FIELDS + 1)
  return [
    // What a form parser leaves of a form: its payload, or all its fields as JSON.
    [['payload', text] as const],
    fieldsOfJson(text),
    // A form that was decoded as a whole. There may be & in its fields.
    pairs.map(splitPair),
    pairs.length > 1 ? [splitPair(text)] : [],
    // A form that another writer has encoded again.
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
    return [] // It is not JSON.
  }
}

const decodeForm = (binary: string): string => percentDecode(binary.replaceAll('+', ' '))

/** As JavaScript writes it. */
const encode = (text: string): string => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))

const more = (form: string, characters: RegExp): string =>
  form.replace(characters, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const plus = (form: string): string => form.replaceAll('%20', '+')

/** The writers differ in what they do with a space and with these: ! ' ( ) * ~ */
const WRITERS: readonly ((form: string) => string)[] = [
  (form) => form,
  plus,
  // RFC 3986: Python's quote, PHP's rawurlencode.
  (form) => more(form, /[!'()*]/g),
  // Python's urlencode, .NET.
  (form) => plus(more(form, /[!'()*]/g)),
  // WHATWG URL, Java's URLEncoder.
  (form) => plus(more(form, /[!'()~]/g)),
]
