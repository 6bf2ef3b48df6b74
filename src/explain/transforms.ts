import { concat, fromBinary, utf8 } from '../shared/bytes.ts'
import { percentDecode } from '../signature/signature.ts'
import * as codecs from './bytes.ts'
import { decodeAs, fromBase64, fromHex, inLines, toBinary, toHex, trim, trimEnd, trimStart } from './bytes.ts'
import type { BytesOrText } from './types.ts'

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

/** Largest text, in bytes, for which rare changes are tested that take long to compute. */
const MAX_SMALL = 16 * 1024

export function createSource(bytes: Uint8Array): Source {
  const binary = toBinary(bytes)
  const text = decodeAs(bytes, 'utf-8')
  return { bytes, binary, text, characters: text ?? binary, isSmall: bytes.length <= MAX_SMALL }
}

/** Encodes changed characters. In a source that is not text, each character up to U+00FF is a byte. */
export function encodeLike({ text }: Source, value: BytesOrText): BytesOrText {
  if (text !== undefined || typeof value !== 'string') return value
  return fromBinary(value.replace(/[^\0-\xff]/gu, (character) => toBinary(utf8(character))))
}

/** White space that editors, shells, templates and string literals add. */
const SPACES: readonly (readonly [text: string, name: string])[] = [
  ['\n', 'a line feed'],
  ['\r\n', 'CR LF'],
  ['\n\n', 'two line feeds'],
  [' ', 'a space'],
  ['\r', 'CR'],
  ['\t', 'a tab'],
  ['\r\n\r\n', 'two CR LF'],
  ['  ', 'two spaces'],
  ['    ', 'four spaces'],
]

export function* atEnd({ bytes }: Source): Generator<Variant> {
  for (const [text, name] of SPACES) yield [concat([bytes, utf8(text)]), `followed by ${name}`]
  if (bytes.at(-1) === 0x0a)
    yield [bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1), 'without its last line ending']
  const trimmed = trimEnd(bytes)
  if (trimmed.length === bytes.length) return
  yield [trimmed, 'without the white space at its end']
  for (const [text, name] of SPACES.slice(0, 2))
    yield [concat([trimmed, utf8(text)]), `with only ${name} at its end`]
}

export function* atStart({ bytes }: Source): Generator<Variant> {
  for (const [text, name] of SPACES) yield [concat([utf8(text), bytes]), `after ${name}`]
  yield [concat([utf8('\n'), bytes, utf8('\n')]), 'between two line feeds']
  const trimmed = trimStart(bytes)
  if (trimmed.length === bytes.length) return
  yield [trimmed, 'without the white space at its start']
  yield [trimEnd(trimmed), 'without the white space around it']
}

const LF = 0x0a
const CR = 0x0d

export function* lineEndings({ bytes, characters }: Source): Generator<Variant> {
  if (!bytes.includes(LF) && !bytes.includes(CR)) return
  for (const [text, name] of ['\n LF', '\r\n CR LF', '\r CR', '\r\r\n CR CR LF'].map((row) =>
    row.split(/ (.*)/s),
  ))
    yield [withLineEndings(bytes, utf8(text ?? '')), `with ${name} as line endings`]
  if (/[^\r\n][\r\n]+[^\r\n]/.test(characters))
    yield [withLineEndings(bytes, new Uint8Array()), 'without its line endings']
}

/** Uses a loop, because a regular expression takes many times as long for a body of line feeds. */
function withLineEndings(bytes: Uint8Array, ending: Uint8Array): Uint8Array {
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

/** Sizes to which buffers of a fixed size are filled up with NUL bytes. */
const BUFFERS = [8, 16, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536]

export function* nulBytes({ bytes }: Source): Generator<Variant> {
  const { length } = bytes
  const full = BUFFERS.map((buffer) => Math.ceil(length / buffer) * buffer)
  for (const size of new Set([length + 1, length + 2, length + 4, ...full]))
    yield [
      concat([bytes, new Uint8Array(size - length)]),
      `followed by NUL bytes, up to a size of ${size} bytes`,
    ]
  const first = bytes.indexOf(0)
  if (first < 0) return
  yield [bytes.subarray(0, first), 'up to its first NUL byte']
  yield [bytes.subarray(0, bytes.findLastIndex(Boolean) + 1), 'without the NUL bytes at its end']
  yield [bytes.filter(Boolean), 'without its NUL bytes']
}

const BOM = Uint8Array.of(0xef, 0xbb, 0xbf)

export function* byteOrderMarks({ bytes }: Source): Generator<Variant> {
  for (const bom of [BOM, Uint8Array.of(0xff, 0xfe), Uint8Array.of(0xfe, 0xff)]) {
    const isAt = (part: Uint8Array): boolean => bom.every((byte, index) => part[index] === byte)
    for (let rest = bytes; isAt(rest); ) {
      rest = rest.subarray(bom.length)
      yield [rest, 'without a byte order mark before it']
    }
    if (isAt(bytes.subarray(-bom.length)))
      yield [bytes.subarray(0, -bom.length), 'without a byte order mark after it']
    if (!isAt(bytes) || bom === BOM) yield [concat([bom, bytes]), 'with a byte order mark before it']
  }
  yield [concat([BOM, BOM, bytes]), 'with two byte order marks before it']
  yield [concat([bytes, BOM]), 'with a byte order mark after it']
}

/** Converts a text to another text. Bytes are binary strings. Returns undefined if the text does not fit. */
export type Convert = (text: string) => string | undefined
export type Codec = readonly [name: string, convert: Convert]

/** Applies functions one after another, as long as each one fits. */
export const chain =
  (...steps: readonly Convert[]): Convert =>
  (text) =>
    steps.reduce<string | undefined>((value, step) => (value ? step(value) : undefined), text)

/** Makes a conversion of binary strings from one of bytes. */
const encodes = (encode: (bytes: Uint8Array) => string) => (binary: string) => encode(fromBinary(binary))
const decodes = (decode: (text: string) => Uint8Array | undefined) => (text: string) => {
  const bytes = decode(text)
  return bytes && toBinary(bytes)
}

const hexWith = (by: string) => encodes((bytes) => (toHex(bytes).match(/../g) ?? []).join(by))
const linesOf = (length: number, end: string) => (binary: string) => inLines(btoa(binary), length, end)
const listOf = (start: string, by: string, end: string) => encodes((bytes) => start + bytes.join(by) + end)
const padTo = (text: string, size: number): string => text.padEnd(Math.ceil(text.length / size) * size, '=')
const upper = (text: string): string => text.toUpperCase()

/** Encodings, likely ones first. */
export const ENCODINGS: readonly Codec[] = [
  ['base64', btoa],
  ['hex', encodes(toHex)],
  ['upper-case hex', chain(encodes(toHex), upper)],
  ['base64 without padding', (binary) => btoa(binary).replaceAll('=', '')],
  ['base64url', chain(btoa, codecs.toUrlSafe)],
  ['base64url with padding', (binary) => padTo(codecs.toUrlSafe(btoa(binary)), 4)],
]
export const RARE_ENCODINGS: readonly Codec[] = [
  ...[':', ' ', '-'].flatMap((by): Codec[] => [
    ['hex with separators', hexWith(by)],
    ['upper-case hex with separators', chain(hexWith(by), upper)],
  ]),
  // Line lengths of MIME, Python and GNU, Ruby, and OpenSSL.
  ...(['76 \r\n', '76 \n', '60 \n', '64 \n'] as const).flatMap((row): Codec[] => {
    const size = Number.parseInt(row, 10)
    const lines = linesOf(size, row.slice(3))
    const name = `base64, in lines of ${size} characters`
    return [
      [name, lines],
      [name, (binary) => lines(binary) + row.slice(3)],
    ]
  }),
  ['base32', encodes((bytes) => padTo(codecs.toBase32(bytes), 8))],
  ['base32 without padding', encodes(codecs.toBase32)],
  ['lower-case base32', encodes((bytes) => codecs.toBase32(bytes).toLowerCase())],
  ['a JSON string of base64', (binary) => `"${btoa(binary)}"`],
  ['percent-encoded base64', (binary) => encodeURIComponent(btoa(binary))],
]

/** Decodes hex, also with separators, line endings or `0x`. Returns undefined for any other text. */
function fromSeparatedHex(text: string): Uint8Array | undefined {
  const digits = text.replace(/^0x|^\\x/i, '').replace(/[ :,\r\n-]|\\x|0x/gi, '')
  return digits === '' ? undefined : fromHex(digits)
}

const isBase64 = (text: string): boolean =>
  text.length > 1 && /^[\w+/-]+={0,2}\s*$/.test(text.replace(/[\r\n]/g, ''))

/** Decodes base64 or base64url, with or without line breaks and padding. Returns undefined for other text. */
export const decodeBase64 = (text: string): Uint8Array | undefined =>
  isBase64(text) ? fromBase64(text.trim()) : undefined

export const DECODINGS: readonly Codec[] = [
  ['base64', decodes(decodeBase64)],
  ['hex', decodes(fromSeparatedHex)],
]

const trimBinary = (binary: string): string => toBinary(trim(fromBinary(binary)))

/** Decodes and encodes: once, twice, with a line feed, and from one encoding to another. */
export function* encodings({ binary }: Source): Generator<Variant> {
  const bare = binary.replace(/^data:[^,]{0,100};base64,/, '').replace(/^"([^"]*)"\s*$/, '$1')
  for (const [name, decode] of DECODINGS) {
    const decoded = decode(bare)
    if (!decoded) continue
    yield [fromBinary(decoded), `decoded from ${name}`]
    yield [fromBinary(trimBinary(decoded)), `decoded from ${name}, without white space around it`]
    for (const [then, decodeAgain] of DECODINGS) {
      const again = decodeAgain(trimBinary(decoded))
      yield [again && fromBinary(again), `decoded from ${name}, then from ${then}`]
    }
    for (const [other, encode] of [...ENCODINGS, ...RARE_ENCODINGS.slice(0, 2)])
      yield [encode(decoded), `in ${other} in place of ${name}`]
  }
  for (const [name, encode] of ENCODINGS) {
    yield [encode(binary), `encoded in ${name}`]
    yield [`${encode(binary)}\n`, `encoded in ${name}, with a line feed at its end`]
  }
  for (const [name, encode] of ENCODINGS.slice(0, 2))
    for (const [then, encodeAgain] of ENCODINGS.slice(0, 2))
      yield [chain(encode, encodeAgain)(binary), `encoded in ${name}, then in ${then}`]
  for (const [name, encode] of RARE_ENCODINGS) yield [encode(binary), `encoded in ${name}`]
}

export function* byteLists({ binary, characters, isSmall }: Source): Generator<Variant> {
  const numbers = characters.match(/\d+/g) ?? []
  if (numbers.length > 1 && /^[^\d]*\d{1,3}(?:[, ]{1,2}\d{1,3})+[\]}]*$/.test(characters))
    yield [Uint8Array.from(numbers, Number), 'decoded from a list of numbers']
  if (!isSmall) return
  const lists = [listOf('', ',', ''), ...[',', ', ', ' '].map((by) => listOf('[', by, ']'))]
  for (const list of lists) yield [list(binary), 'as a list of numbers']
  yield [listOf('{"type":"Buffer","data":[', ',', ']}')(binary), 'as the JSON of a Buffer']
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
    if (hex.length < 3) return `\\x${hex.padStart(2, '0')}`
    return hex.length < 5 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
  })
  return mark + inner + mark
}

/** Decodes percent-encoded text, given as a binary string. The result may be bytes that are not UTF-8. */
export function decodePercent(binary: string): BytesOrText {
  if (/^[\0-\x7f]*$/.test(binary)) {
    try {
      return decodeURIComponent(binary) // several times as fast
    } catch {
      // contains an incomplete escape, or bytes that are not UTF-8
    }
  }
  return fromBinary(percentDecode(binary))
}

export function* percentEncodings({ binary, text, isSmall }: Source): Generator<Variant> {
  if (binary.includes('%')) yield [decodePercent(binary), 'percent-decoded']
  if (/[%+]/.test(binary)) yield [decodePercent(binary.replaceAll('+', ' ')), 'decoded as a form field']
  if (text === undefined || !isSmall) return
  const percent = encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
  const strict = (marks: RegExp): string =>
    percent.replace(marks, (mark) => `%${upper(mark.charCodeAt(0).toString(16))}`)
  for (const encoded of [
    percent,
    strict(/[!'()*]/g),
    strict(/[!'()~]/g),
    strict(/[!'()*]/g).replaceAll('%2F', '/'),
  ]) {
    yield [encoded, 'percent-encoded']
    yield [encoded.replaceAll('%20', '+'), 'percent-encoded, with + for spaces']
  }
  yield [encodeURIComponent(percent), 'percent-encoded twice']
  yield [encodeURI(percent).replaceAll('%25', '%'), 'percent-encoded']
}

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' },
}

/** Decodes HTML entities once. Unknown entities stay as they are. */
const decodeHtml = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, (entity, decimal, hex, name) => {
    if (name) return ENTITIES[name.toLowerCase()] ?? entity
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : entity
  })

/** How PHP, PHP before 8.1, Python, Ruby, Go and others write double and single quotes in HTML. */
const QUOTES_IN_HTML = [
  '&quot; &#039;',
  "&quot; '",
  '&quot; &#x27;',
  '&quot; &#39;',
  '&#34; &#39;',
  '&quot; &apos;',
  '" \'',
]

const encodeHtml = (text: string, quotes: string): string => {
  const [double = '', single = ''] = quotes.split(' ')
  const marked = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return marked.replaceAll('"', double).replaceAll("'", single)
}

export function* html({ characters, isSmall }: Source): Generator<Variant> {
  if (characters.includes('&')) {
    yield [decodeHtml(characters), 'with its HTML entities decoded']
    yield [decodeHtml(decodeHtml(characters)), 'with its HTML entities decoded twice']
    yield [characters.replaceAll('&amp;', '&'), 'with &amp; decoded']
  }
  for (const quotes of isSmall && /[&<>"']/.test(characters) ? QUOTES_IN_HTML : []) {
    yield [encodeHtml(characters, quotes), 'encoded for HTML']
    yield [encodeHtml(encodeHtml(characters, quotes), quotes), 'encoded for HTML twice']
  }
}

/** Writes characters, by default those beyond ASCII, as `\uXXXX`. */
export const escapeUnicode = (
  text: string,
  pattern: RegExp = /[\x80-\uffff]/g,
  change: (hex: string) => string = (hex) => hex,
): string => text.replace(pattern, (unit) => `\\u${change(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`)

const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', 0: '\0' }

/** Decodes backslash sequences, as string literals and echo -e do. Other escaped characters lose their backslash. */
const decodeBackslashes = (text: string): string =>
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
  yield [escapeUnicode(characters, /[\x80-\uffff]/g, upper), 'with \\u sequences for non-ASCII characters']
  yield [`${characters}\\n`, 'with a backslash and the letter n after it']
  yield [characters.replace(/\\r\\n$|\\[nrt]$/, ''), 'without the backslash and letter at its end']
  const lines = characters.replaceAll('\r', '\\r').replaceAll('\n', '\\n')
  for (const end of lines === characters ? [] : ['', '\\n'])
    yield [lines + end, 'with line endings as backslash sequences']
}

const PAIRS = ['""', "''", '``', '\u201c\u201d', '\u2018\u2019', '\u201e\u201c', '\u00ab\u00bb', '<>']

/** Removes one pair of quotes around a text. Returns other texts unchanged. */
export function unquote(text: string): string {
  if (text.length >= 4 && text.startsWith('\\"') && text.endsWith('\\"')) return text.slice(2, -2)
  return text.length > 1 && PAIRS.includes(text.charAt(0) + text.slice(-1)) ? text.slice(1, -1) : text
}

export function* quotes({ characters, isSmall }: Source): Generator<Variant> {
  if (!isSmall) return
  yield [unquote(characters), 'without the quotes around it']
  for (const pair of PAIRS) yield [pair.charAt(0) + characters + pair.charAt(1), `in the quotes ${pair}`]
  yield [unquote(unquote(characters)), 'without two pairs of quotes around it']
  yield [/^\s*b?(["'])(.*)\1\s*$/s.exec(characters)?.[2], 'without what Python prints around bytes']
  yield [characters.replace(/["'`\u00ab\u00bb\u2018-\u201f]/g, ''), 'without its quotes']
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
