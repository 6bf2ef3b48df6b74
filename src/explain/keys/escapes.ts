import { toBinary } from '../../shared/bytes.ts'
import { percentDecode } from '../../signature/signature.ts'
import { encodeLike, type KeyRow, type KeyTable } from './key-table.ts'

/** Decodes percent-encoded bytes. The rest of the key stays as it is. */
const decodePercent =
  (prepare: (text: string) => string): KeyRow[1] =>
  (text, key) => {
    const binary = percentDecode(toBinary(encodeLike(key, prepare(text))))
    return Uint8Array.from(binary, (character) => character.charCodeAt(0))
  }

const encodePercent = (text: string): string => encodeURIComponent(text)

/** Percent-encoding, as in URLs and forms. */
export const PERCENT: KeyTable = [
  'key_encoding',
  [
    ['the percent-decoded key', decodePercent((text) => text)],
    ['the key decoded as a form field', decodePercent((text) => text.replaceAll('+', ' '))],
    ['the percent-encoded key', (key, { isText }) => (isText ? encodePercent(key) : undefined)],
    [
      'the percent-encoded key',
      (key, { isText }) => (isText ? encodePercent(key).replaceAll('%20', '+') : undefined),
    ],
    ['the percent-encoded key', (key, { isText }) => (isText ? encodeForm(key) : undefined)],
    [
      'the percent-encoded key, with its slashes kept',
      (key, { isText }) => (isText ? encodePercent(key).replaceAll('%2F', '/') : undefined),
    ],
    [
      'the key percent-encoded twice',
      (key, { isText }) => (isText ? encodePercent(encodePercent(key)) : undefined),
    ],
    ['the key encoded as a URL', (key, { isText }) => (isText ? encodeURI(key) : undefined)],
  ],
]

/** Encodes like PHP's urlencode and Java's URLEncoder, which also encode the punctuation that JavaScript keeps. */
const encodeForm = (text: string): string =>
  encodePercent(text)
    .replaceAll('%20', '+')
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
}

/** Decodes HTML entities once. Unknown entities stay as they are. */
const decodeHtml = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, (entity, decimal, hex, name) => {
    if (name) return ENTITIES[name.toLowerCase()] ?? entity
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : entity
  })

/** Encodes like the functions of these languages, which write quotes in different ways. */
const encodeHtml = (text: string, double: string, single: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', double)
    .replaceAll("'", single)

const asReferences = (text: string): string =>
  text.replace(/[^\0-\x7f]/gu, (character) => `&#${character.codePointAt(0)};`)

const QUOTES_IN_HTML: readonly [double: string, single: string][] = [
  ['&quot;', '&#039;'],
  ['&quot;', '&#39;'],
  ['&quot;', '&#x27;'],
  ['&#34;', '&#39;'],
  ['&quot;', '&apos;'],
  ['&quot;', "'"],
  ['"', "'"],
]

/** HTML entities. */
export const HTML: KeyTable = [
  'key_html',
  [
    ['the key with its HTML entities decoded', decodeHtml],
    ['the key with its HTML entities decoded twice', (key) => decodeHtml(decodeHtml(key))],
    ...QUOTES_IN_HTML.map(
      ([double, single]): KeyRow => ['the key encoded for HTML', (key) => encodeHtml(key, double, single)],
    ),
    ['the key with its non-ASCII characters encoded for HTML', asReferences],
    ['the key encoded for HTML', (key) => asReferences(encodeHtml(key, '&quot;', '&#39;'))],
    [
      'the key encoded for HTML twice',
      (key) => encodeHtml(encodeHtml(key, '&quot;', '&#039;'), '&quot;', '&#039;'),
    ],
    [
      'the key encoded for HTML twice',
      (key) => encodeHtml(encodeHtml(key, '&quot;', '&#39;'), '&quot;', '&#39;'),
    ],
  ],
]

const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', 0: '\0' }

/** Decodes backslash sequences, as string literals and echo -e do. Other escaped characters lose their backslash. */
const decodeBackslashes = (text: string): string =>
  text.replace(/\\(?:u([\da-f]{4})|x([\da-f]{2})|(.))/gis, (_, unicode, hex, other) =>
    other ? (CONTROLS[other] ?? other) : String.fromCharCode(Number.parseInt(unicode ?? hex, 16)),
  )

const escapeUnicode = (text: string, upper = false): string =>
  text.replace(/[^\0-\x7f]/g, (unit) => {
    const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${upper ? hex.toUpperCase() : hex}`
  })

/** Escapes of string literals, shells and settings files: backslash, dollar, percent and number signs. */
export const ESCAPED: KeyTable = [
  'key_escaped',
  [
    ['the key with its backslash sequences decoded', decodeBackslashes],
    ['the key without its backslashes', (key) => key.replaceAll('\\', '')],
    ['the key with its double backslashes reduced', (key) => key.replaceAll('\\\\', '\\')],
    ['the key with a backslash and the letter n after it', (key) => `${key}\\n`],
    ['the key without the backslash and letter at its end', (key) => key.replace(/\\r\\n$|\\[nrt]$/, '')],
    ['the key with its backslashes doubled', (key) => key.replaceAll('\\', '\\\\')],
    ['the key with backslashes before its quotes', (key) => key.replace(/["'\\]/g, '\\$&')],
    ['the key with backslashes before its double quotes', (key) => key.replace(/["\\]/g, '\\$&')],
    ['the key with backslashes before its dollar signs', (key) => key.replaceAll('$', '\\$')],
    ['the key escaped for a shell', (key) => key.replace(/[^\w@%+=:,./-]/g, '\\$&')],
    [
      'the key with line endings as backslash sequences',
      (key) => key.replaceAll('\r', '\\r').replaceAll('\n', '\\n'),
    ],
    [
      'the key with line endings as backslash sequences, also at its end',
      (key) => (key.includes('\n') ? `${key.replaceAll('\n', '\\n')}\\n` : undefined),
    ],
    ['the key with its non-ASCII characters as \\u sequences', (key) => escapeUnicode(key)],
    ['the key with its non-ASCII characters as \\u sequences', (key) => escapeUnicode(key, true)],
    [
      'the key with its shell variables replaced by nothing',
      (key) => key.replace(/\$(?:\w+|\{[^{}]*\})/g, ''),
    ],
    [
      'the key with its shell parameters replaced by nothing',
      (key) => key.replace(/\$(?:[A-Za-z_]\w*|\d|\{[^{}]*\})/g, ''),
    ],
    ['the key up to its first dollar sign', before('$')],
    ['the key up to its first number sign', before('#')],
    ['the key up to its first semicolon', before(';')],
    ['the key with its double dollar signs reduced', (key) => key.replaceAll('$$', () => '$')],
    ['the key with its dollar signs doubled', (key) => key.replaceAll('$', () => '$$')],
    ['the key with its double percent signs reduced', (key) => key.replaceAll('%%', '%')],
    ['the key with its percent signs doubled', (key) => key.replaceAll('%', '%%')],
    ['the key up to its first zero byte', before('\0')],
  ],
]

function before(mark: string): KeyRow[1] {
  return (key) => {
    const end = key.indexOf(mark)
    return end < 0 ? undefined : key.slice(0, end).trim()
  }
}
