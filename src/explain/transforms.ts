import { concat, fromBinary, utf8 } from '../shared/bytes.ts'
import { percentDecode } from '../signature/signature.ts'
import {
  BOM,
  decodeAs,
  fromBase64,
  fromHex,
  hasBom,
  toBinary,
  toHex,
  trim,
  trimEnd,
  trimStart,
  utf16,
} from './bytes.ts'
import type { Cause } from './causes.ts'
import type { BytesOrText, Hypothesis } from './types.ts'

// What programs do to a text on its way, whether it is a body or a key.

/** A text in the representations that changes start from. */
export interface Source {
  readonly bytes: Uint8Array
  /** One character per byte. */
  readonly binary: string
  /** Undefined if the bytes are not valid UTF-8. */
  readonly text: string | undefined
  /** The text. Bytes without text are a binary string, in which ASCII characters can be replaced. */
  readonly characters: string
  /** True if the text is small enough for rare changes that take long to compute. */
  readonly isSmall: boolean
}

/** What a change leads to. The description follows after "the body" or "the key". Undefined if it does not fit. */
export type Variant = readonly [value: BytesOrText | undefined, description: string]

/** Changes of one kind, likely ones first. */
export type Family = (source: Source) => Iterable<Variant>

const MAX_SMALL = 16 * 1024

export function createSource(bytes: Uint8Array): Source {
  const binary = toBinary(bytes)
  const text = decodeAs(bytes)
  return { bytes, binary, text, characters: text ?? binary, isSmall: bytes.length <= MAX_SMALL }
}

/** Encodes changed characters. In a source that is not text, each character up to U+00FF is a byte. */
function encodeLike({ text }: Source, value: BytesOrText): BytesOrText {
  if (text !== undefined || typeof value !== 'string') return value
  return fromBinary(value.replace(/[^\0-\xff]/gu, (character) => toBinary(utf8(character))))
}

export type Families = readonly (readonly [cause: Cause, variants: Family])[]

/** Yields each change that fits. */
export function* changesOf(source: Source, families: Families): Generator<Hypothesis> {
  for (const [cause, variants] of families)
    for (const [value, description] of variants(source))
      if (value !== undefined) yield [cause, encodeLike(source, value), description]
}

const shown = (text: string, place: string): string =>
  text && `${JSON.stringify(text).replaceAll('\ufeff', '\\ufeff')} ${place} it`

export const added = (bytes: Uint8Array, before: string, after = ''): Variant => [
  concat([utf8(before), bytes, utf8(after)]),
  `with ${[shown(before, 'before'), shown(after, 'after')].filter(Boolean).join(' and ')}`,
]

/** White space that editors, shells, templates and string literals add. */
const SPACES = ['\n', '\r\n', '\n\n', ' ', '\r', '\t', '\r\n\r\n', '  ', '    ']

export function* atEnd({ bytes }: Source): Generator<Variant> {
  for (const space of SPACES) yield added(bytes, '', space)
  if (bytes.at(-1) === LF)
    yield [bytes.subarray(0, bytes.at(-2) === CR ? -2 : -1), 'without its last line ending']
  const trimmed = trimEnd(bytes)
  if (trimmed.length === bytes.length) return
  yield [trimmed, 'without the white space at its end']
  for (const end of ['\n', '\r\n']) yield [added(trimmed, '', end)[0], 'with only a line ending at its end']
}

export function* atStart({ bytes }: Source): Generator<Variant> {
  for (const space of SPACES) yield added(bytes, space)
  yield added(bytes, '\n', '\n')
  const trimmed = trimStart(bytes)
  if (trimmed.length === bytes.length) return
  yield [trimmed, 'without the white space at its start']
  yield [trimEnd(trimmed), 'without the white space around it']
}

const LF = 0x0a
const CR = 0x0d

export function* lineEndings({ bytes, characters }: Source): Generator<Variant> {
  if (!bytes.includes(LF) && !bytes.includes(CR)) return
  for (const [name, ...ending] of [['LF', LF] as const, ['CR LF', CR, LF] as const, ['CR', CR] as const])
    yield [withLineEndings(bytes, ending), `with ${name} as line endings`]
  if (/[^\r\n][\r\n]+[^\r\n]/.test(characters)) yield [withLineEndings(bytes, []), 'without its line endings']
}

/** Uses a loop, because a regular expression takes many times as long for a body of line feeds. */
function withLineEndings(bytes: Uint8Array, ending: readonly number[]): Uint8Array {
  const changed = new Uint8Array(bytes.length * Math.max(1, ending.length))
  let size = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === LF || byte === CR) {
      if (byte === CR && bytes[at + 1] === LF) at++
      for (const end of ending) changed[size++] = end
    } else changed[size++] = byte
  }
  return changed.subarray(0, size)
}

const BUFFERS = [8, 16, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536]

export function* nulBytes({ bytes }: Source): Generator<Variant> {
  const { length } = bytes
  const full = BUFFERS.map((buffer) => Math.ceil(length / buffer) * buffer)
  for (const size of new Set([length + 1, length + 2, length + 4, ...full]))
    yield [concat([bytes, new Uint8Array(size - length)]), `followed by NUL bytes, up to ${size} bytes`]
  const first = bytes.indexOf(0)
  if (first < 0) return
  yield [bytes.subarray(0, first), 'up to its first NUL byte']
  yield [bytes.filter(Boolean), 'without its NUL bytes']
}

export function* byteOrderMarks({ bytes }: Source): Generator<Variant> {
  for (let rest = bytes; hasBom(rest); ) {
    rest = rest.subarray(BOM.length)
    yield [rest, 'without a byte order mark before it']
  }
  if (hasBom(bytes.subarray(-BOM.length)))
    yield [bytes.subarray(0, -BOM.length), 'without a byte order mark after it']
  yield added(bytes, '\ufeff')
  yield added(bytes, '\ufeff\ufeff')
  yield added(bytes, '', '\ufeff')
}

/** The characters 0x80 to 0x9f of Windows-1252. Not every platform's TextDecoder supports this charset. */
const WINDOWS_1252 =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178'
const LATIN_1 = Array.from(WINDOWS_1252, (_, at) => String.fromCharCode(0x80 + at)).join('')

function toSingleByte(text: string, high: string): Uint8Array | undefined {
  const binary = text.replace(/[^\0-\x7f\xa0-\xff]/g, (character) => {
    const at = high.indexOf(character)
    return at < 0 ? '\u0100' : String.fromCharCode(0x80 + at)
  })
  return binary.includes('\u0100') ? undefined : fromBinary(binary)
}

const fromSingleByte = (binary: string, high: string): Uint8Array =>
  utf8(binary.replace(/[\x80-\x9f]/g, (byte) => high.charAt(byte.charCodeAt(0) - 0x80)))

const NOT_ASCII = /[^\0-\x7f]/gu

const toReferences = (text: string): string =>
  text.replace(NOT_ASCII, (character) => `&#${character.codePointAt(0)};`)

export function* charsets({ bytes, binary, text, isSmall }: Source): Generator<Variant> {
  if (text === undefined) {
    const repaired = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
    yield [repaired, 'decoded as UTF-8, with its invalid bytes replaced']
    yield [repaired.replaceAll('\ufffd', ''), 'without the bytes that are not UTF-8']
  } else {
    for (const bom of ['', '\ufeff'])
      for (const endian of ['little', 'big'] as const)
        yield [utf16(bom + text, endian), `in UTF-16${bom && ' with a byte order mark'}`]
  }
  for (const charset of ['utf-16le', 'utf-16be']) {
    const decoded = decodeAs(bytes, charset)
    if (decoded !== undefined) yield [trim(utf8(decoded)), `decoded from ${charset}`]
  }
  if (!/[^\0-\x7f]/.test(binary)) return // the charsets below agree in ASCII
  for (const [charset, high] of [
    ['Latin-1', LATIN_1],
    ['Windows-1252', WINDOWS_1252],
  ] as const) {
    const encoded = text === undefined ? undefined : toSingleByte(text, high)
    yield [encoded, `in ${charset}`]
    yield [encoded && toSingleByte(decodeAs(encoded) ?? '\ufffd', high), `in ${charset}, applied twice`]
    const decoded = fromSingleByte(binary, high)
    yield [decoded, `decoded as ${charset} and encoded as UTF-8`]
    if (isSmall)
      yield [fromSingleByte(toBinary(decoded), high), `decoded as ${charset} and encoded as UTF-8 twice`]
  }
  if (text === undefined || !isSmall) return
  for (const by of ['?', '\ufffd', '']) {
    const description = by ? `with ${by} for non-ASCII characters` : 'without its non-ASCII characters'
    for (const changed of [text.replace(NOT_ASCII, by), text.replace(/[^\0-\x7f]/g, by)])
      yield [changed, description] // each character, and each UTF-16 unit
    yield [binary.replace(NOT_ASCII, by), description] // each byte
  }
  const lower = Uint8Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
  yield [lower, 'with the lower byte of each unit']
  yield [fromBinary(text.replace(/[^\0-\xff]/gu, '?')), 'in Latin-1, with question marks']
}

/** More marks on one character than text has (UAX #15, section 13): putting them in order takes quadratic time. */
const MANY_MARKS = /[\p{M}\uff9e\uff9f]{33}/u

export function* normalForms({ text }: Source): Generator<Variant> {
  if (text === undefined || /^[\0-\x7f]*$/.test(text) || MANY_MARKS.test(text)) return
  for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD'])
    yield [text.normalize(form), `in the Unicode normalization form ${form}`]
}

/** Encodes a binary string. */
type Encoding = readonly [name: string, encode: (binary: string) => string]

const toUrlSafe = (base64: string): string => base64.replaceAll('+', '-').replaceAll('/', '_')
const hexOf = (binary: string): string => toHex(fromBinary(binary))

export const ENCODINGS: readonly Encoding[] = [
  ['base64', btoa],
  ['hex', hexOf],
  ['upper-case hex', (binary) => hexOf(binary).toUpperCase()],
  ['base64 without padding', (binary) => btoa(binary).replaceAll('=', '')],
  ['base64url', (binary) => toUrlSafe(btoa(binary)).replaceAll('=', '')],
  ['base64url with padding', (binary) => toUrlSafe(btoa(binary))],
]

/** Decodes hex, also with separators, line endings or `0x`. Returns undefined for any other text. */
function fromSeparatedHex(text: string): Uint8Array | undefined {
  const digits = text.replace(/^0x|^\\x/i, '').replace(/[ :,\r\n-]|\\x|0x/gi, '')
  return digits === '' ? undefined : fromHex(digits)
}

/** Decodes base64 or base64url, with or without line breaks and padding. Returns undefined for other text. */
export const decodeBase64 = (text: string): Uint8Array | undefined =>
  text.length > 1 && /^[\w+/-]+={0,2}\s*$/.test(text.replace(/[\r\n]/g, ''))
    ? fromBase64(text.trim())
    : undefined

export const DECODINGS: readonly (readonly [name: string, decode: typeof fromHex])[] = [
  ['base64', decodeBase64],
  ['hex', fromSeparatedHex],
]

/** Decodes and encodes: once, twice, with a line feed, and from one encoding to another. */
export function* encodings({ binary, isSmall }: Source): Generator<Variant> {
  const bare = binary.replace(/^data:[^,]{0,100};base64,/, '').replace(/^"([^"]*)"\s*$/, '$1')
  for (const [name, decode] of DECODINGS) {
    const decoded = decode(bare)
    if (!decoded) continue
    yield [decoded, `decoded from ${name}`]
    const trimmed = trim(decoded)
    yield [trimmed, `decoded from ${name}, without white space around it`]
    for (const [then, decodeAgain] of DECODINGS)
      yield [decodeAgain(toBinary(trimmed)), `decoded from ${name}, then from ${then}`]
    for (const [other, encode] of ENCODINGS)
      yield [encode(toBinary(decoded)), `in ${other} in place of ${name}`]
  }
  for (const [name, encode] of ENCODINGS) {
    const encoded = encode(binary)
    yield [encoded, `encoded in ${name}`]
    yield [`${encoded}\n`, `encoded in ${name}, with a line feed at its end`]
    for (const [then, encodeAgain] of /^(base64|hex)$/.test(name) ? ENCODINGS.slice(0, 2) : [])
      yield [encodeAgain(encoded), `encoded in ${name}, then in ${then}`]
  }
  if (!isSmall) return
  const base64 = btoa(binary)
  for (const lines of [/.{1,76}/g, /.{1,60}/g, /.{1,64}/g]) // MIME, Ruby, OpenSSL
    for (const end of ['\r\n', '\n'])
      for (const last of ['', end])
        yield [(base64.match(lines) ?? []).join(end) + last, 'encoded in base64, in several lines']
}

export function* byteLists({ bytes, binary, characters, isSmall }: Source): Generator<Variant> {
  const numbers = characters.match(/\d+/g) ?? []
  if (numbers.length > 1 && /^[^\d]*\d{1,3}(?:[, ]{1,2}\d{1,3})+[\]}]*$/.test(characters))
    yield [Uint8Array.from(numbers, Number), 'decoded from a list of numbers']
  if (!isSmall) return
  yield [bytes.join(), 'as a list of numbers']
  for (const by of [',', ', ', ' ']) yield [`[${bytes.join(by)}]`, 'as a list of numbers']
  yield [`{"type":"Buffer","data":[${bytes.join()}]}`, 'as the JSON of a Buffer']
  yield [`b${pythonRepr(binary, /[\\']|[^ -~]/g)}`, 'as Python prints bytes']
}

/** `repr` in Python: single quotes, or double quotes if the text has only single quotes in it. */
export function pythonRepr(text: string, escaped: RegExp = /[\\']|(?! )[\p{C}\p{Z}]/gu): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replace(escaped, (character) => {
    if (character === "'") return mark === "'" ? "\\'" : "'"
    const short = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character]
    if (short) return short
    const hex = (character.codePointAt(0) as number).toString(16)
    return hex.length < 3 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`
  })
  return mark + inner + mark
}

/** Decodes percent-encoded text, given as a binary string. The result may be bytes that are not UTF-8. */
export const decodePercent = (binary: string): BytesOrText => fromBinary(percentDecode(binary))

export const decodeForm = (binary: string): BytesOrText => decodePercent(binary.replaceAll('+', ' '))

/** Percent-encodes text like `encodeURIComponent`, which throws for lone surrogates. */
export const encodePercent = (text: string): string =>
  encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))

/** Percent-encodes more ASCII characters. */
export const encodeMarks = (percent: string, marks: RegExp): string =>
  percent.replace(marks, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)

export function* percentEncodings({ binary, text, isSmall }: Source): Generator<Variant> {
  if (binary.includes('%')) yield [decodePercent(binary), 'percent-decoded']
  if (/[%+]/.test(binary)) yield [decodeForm(binary), 'decoded as a form field']
  if (text === undefined || !isSmall) return
  const percent = encodePercent(text)
  const strict = encodeMarks(percent, /[!'()*]/g)
  for (const encoded of [percent, strict, encodeMarks(percent, /[!'()~]/g), strict.replaceAll('%2F', '/')]) {
    yield [encoded, 'percent-encoded']
    yield [encoded.replaceAll('%20', '+'), 'percent-encoded, with + for spaces']
  }
  yield [encodeURIComponent(percent), 'percent-encoded twice']
  yield [encodeURI(percent).replaceAll('%25', '%'), 'percent-encoded']
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Decodes HTML entities once. Unknown entities stay as they are. */
const decodeHtml = (text: string): string =>
  text.replace(/&(?:#x?([\da-f]{1,6})|([a-z]{2,4}));/gi, (entity, code, name) => {
    const number = Number.parseInt(code, /^&#x/i.test(entity) ? 16 : 10)
    return number <= 0x10ffff ? String.fromCodePoint(number) : (ENTITIES[name?.toLowerCase()] ?? entity)
  })

/** How PHP, Python, Go, Ruby and others write double and single quotes in HTML. */
const QUOTES_IN_HTML = ['&quot; &#039;', "&quot; '", '&quot; &#x27;', '&quot; &#39;', '&#34; &#39;', `" '`]

export function* html({ characters, isSmall }: Source): Generator<Variant> {
  if (characters.includes('&')) {
    yield [decodeHtml(characters), 'with its HTML entities decoded']
    yield [decodeHtml(decodeHtml(characters)), 'with its HTML entities decoded twice']
  }
  if (!isSmall) return
  for (const quotes of /[&<>"']/.test(characters) ? QUOTES_IN_HTML : []) {
    const [double = '', single = ''] = quotes.split(' ')
    const encode = (text: string): string => {
      const marked = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
      return marked.replaceAll('"', double).replaceAll("'", single)
    }
    yield [encode(characters), 'encoded for HTML']
    yield [encode(encode(characters)), 'encoded for HTML twice']
  }
  yield [toReferences(characters), 'with character references for non-ASCII characters']
}

/** Writes characters, by default those beyond ASCII, as `\uXXXX`. */
export const escapeUnicode = (text: string, pattern: RegExp = /[\x80-\uffff]/g): string =>
  text.replace(pattern, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const CONTROLS: Readonly<Record<string, string>> = {
  ...{ 0: '\0', a: '\x07', b: '\b', t: '\t', n: '\n', v: '\v', f: '\f', r: '\r', e: '\x1b' },
}

/** Decodes backslash sequences, as string literals and echo -e do. Other escaped characters lose their backslash. */
export const decodeBackslashes = (text: string): string =>
  text.replace(/\\(?:u([\da-f]{4})|x([\da-f]{2})|(.))/gis, (_, unicode, hex, other) =>
    other ? (CONTROLS[other] ?? other) : String.fromCharCode(Number.parseInt(unicode ?? hex, 16)),
  )

export function* backslashes({ characters, isSmall }: Source): Generator<Variant> {
  if (!isSmall) return
  yield [characters.replace(/\\(.?)/gs, '$1'), 'without a level of backslashes']
  yield [decodeBackslashes(characters), 'with its backslash sequences decoded']
  yield [characters.replaceAll('\\', ''), 'without its backslashes']
  for (const mark of ['\\', '$', '%']) {
    yield [characters.replaceAll(mark, () => mark + mark), `with each "${mark}" doubled`]
    yield [characters.replaceAll(mark + mark, () => mark), `with each pair of "${mark}" as one`]
  }
  for (const marks of [/["'\\]/g, /["\\]/g, /\$/g, /[^\w@%+=:,./-]/g])
    yield [characters.replace(marks, '\\$&'), 'with backslashes before special characters']
  yield [escapeUnicode(characters), 'with \\u sequences for non-ASCII characters']
  yield [`${characters}\\n`, 'with a backslash and the letter n after it']
  yield [characters.replace(/\\r\\n$|\\[nrt]$/, ''), 'without the backslash and letter at its end']
  const lines = characters.replaceAll('\r', '\\r').replaceAll('\n', '\\n')
  if (lines !== characters) yield [lines, 'with line endings as backslash sequences']
}

const PAIRS = ['""', "''", '``', '\u201c\u201d', '\u2018\u2019', '<>']

export function unquote(text: string): string {
  if (text.length >= 4 && text.startsWith('\\"') && text.endsWith('\\"')) return text.slice(2, -2)
  return text.length > 1 && PAIRS.includes(text.charAt(0) + text.slice(-1)) ? text.slice(1, -1) : text
}

export function* quotes({ characters, isSmall }: Source): Generator<Variant> {
  if (!isSmall) return
  yield [unquote(characters), 'without the quotes around it']
  for (const pair of PAIRS) yield [pair.charAt(0) + characters + pair.charAt(1), `in the quotes ${pair}`]
  yield [unquote(unquote(characters)), 'without two pairs of quotes around it']
  yield [/^b(["'])(.*)\1$/s.exec(characters)?.[2], 'without what Python prints around bytes']
}

/** JSON strings that contain the text, as JavaScript, Python, PHP and Go write them, and in a JSON string again. */
export function* jsonStrings({ text, isSmall }: Source): Generator<Variant> {
  if (text === undefined) return
  const string = JSON.stringify(text)
  const slashes = string.replaceAll('/', '\\/')
  const go = escapeUnicode(string, /[<>&\u2028\u2029]/g)
  yield [string, 'as a JSON string']
  yield [string.slice(1, -1), 'with the backslashes of a JSON string']
  if (!isSmall) return
  yield [JSON.stringify(string), 'as a JSON string in a JSON string']
  for (const written of [escapeUnicode(string), escapeUnicode(slashes), slashes, go, `${go}\n`])
    yield [written, 'as a JSON string with escapes']
}
