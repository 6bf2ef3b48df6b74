import { concat, fromBinary, toBase64, utf8 } from '../shared/bytes.ts'
import { tryJson } from '../shared/json.ts'
import { fromBase64, fromHex, toBinary, toHex, trim, utf16 } from './bytes.ts'
import { commonHashes } from './digests.ts'
import * as transforms from './transforms.ts'
import {
  added,
  changesOf,
  createSource,
  DECODINGS,
  ENCODINGS,
  type Families,
  type Source,
  unquote,
  type Variant,
} from './transforms.ts'
import { type BytesOrText, type Finding, found, type Hypothesis } from './types.ts'

/** Names that variables and settings with a signature key often have, likely ones first. */
export const NAMES: readonly string[] = [
  ...['SIGNATURE_KEY', 'WEBHOOK_SECRET', 'GEOHOOK_SIGNATURE_KEY', 'SECRET', 'signatureKey'],
  ...['WEBHOOK_SIGNATURE_KEY', 'SECRET_KEY', 'HOOK_SECRET', 'KEY', 'secret', 'key'],
]

/** Texts that programs and templates put in place of a key that is not set, likely ones first. */
export const PLACEHOLDERS: readonly string[] = [
  ...['undefined', 'null', 'None', 'nil', '<nil>', 'NULL', '[object Object]', '[object Promise]', '""', "''"],
  ...['[object ArrayBuffer]', 'System.Byte[]', 'Array', 'NaN', 'false', 'true', 'False', '1'],
  ...NAMES.slice(0, 2).flatMap((name) => [
    ...[`\${${name}}`, `$${name}`, `%${name}%`, `{{${name}}}`, `{{ ${name} }}`, `<${name}>`],
    `process.env.${name}`,
  ]),
  ...['changeme', 'change-me', 'mysecret', 'my-secret', 'supersecret', 'your-secret-key', 'your_secret_key'],
  ...['your-secret', 'YOUR_SECRET', 'YOUR_SECRET_KEY', 'YOUR_SIGNATURE_KEY', '<YOUR_KEY>'],
  ...['password', 'test'],
  ...['<your-signature-key>', ...NAMES.slice(0, 5), 'secret', 'key'],
]

/** Words that programs write for a value that is not set, and names of files. */
const IS_WORD = /^(?:undefined|null|none|nil|nan|\[object [A-Za-z]{1,20}\]|<nil>|System\.Byte\[\]|""|'')$/i
const IS_FILE = /^(?:[A-Z]:)?[\\/][\w .\\/-]{1,100}\.(?:txt|key|pem|env|secret)$/i

/** Texts around the name of a variable that a shell, a template or a CI system should have replaced. */
const IS_VARIABLE =
  /^(?:\$\{\{?\s?([^{}]{1,60}?)\s?\}\}?|\$([A-Z_]{1,60})|%([A-Z_]{1,60})%|\{\{\s?([^{}]{1,60}?)\s?\}\}|process\.env\.(\w{1,60}))$/

/** Words of names and examples. A text with any other word may be a real key. */
const NAME_WORDS =
  'env secret secrets var vars value values config settings geohook webhook hook signature signing sign shared hmac service app api my your the key token name'
const EXAMPLE_WORDS = `${NAME_WORDS} here change changeme me it insert enter replace this`

/** Returns true if a text, such as `WEBHOOK_SECRET` or `webhookSecret`, consists of these words only. */
const isMadeOf = (text: string, words: string): boolean =>
  text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[ ._-]/)
    .every((word) => words.split(' ').includes(word.toLowerCase()))

function isPlaceholder(text: string): boolean {
  const [, inner = text] = /^<([^<>]{2,60})>$/.exec(text) ?? []
  const variable = IS_VARIABLE.exec(text)?.slice(1).find(Boolean)
  return (
    IS_WORD.test(text) ||
    IS_FILE.test(text) ||
    (/^(?:your|my|change)/i.test(inner) && isMadeOf(inner, EXAMPLE_WORDS)) ||
    (variable !== undefined && isMadeOf(variable, NAME_WORDS))
  )
}

/** Finds a key on this side that is not a key. The evidence does not repeat it. */
export function findPlaceholder(keys: readonly Uint8Array[]): Finding | undefined {
  if (!keys.some((key) => key.length < 200 && isPlaceholder(toBinary(trim(key))))) return undefined
  const subject = keys.length > 1 ? 'One of the keys on this side is' : 'The key on this side is'
  const what = 'a text that programs and templates put in place of a key: a word, a variable or a path'
  return found('key_placeholder', `${subject} ${what}.`)
}

/** Maximum number of hypotheses for one key. Each of them costs one HMAC of the body. */
const MAX_HYPOTHESES = 300

/** Largest key, in bytes, for which all hypotheses are tested. A longer key gets only the likely ones. */
const MAX_KEY = 1024

/** Maximum number of keys that a list is searched for or joined to. */
const MAX_PARTS = 10

function* whiteSpace({ bytes, characters: key }: Source): Generator<Variant> {
  yield [bytes, 'without white space around it']
  for (const before of ['', ' ', '\ufeff'])
    for (const after of ['\n', '\r\n', '\r', ' ', '\t', '\n\n', ' \n', '']) yield added(bytes, before, after)
  yield [key.replace(/[ \t\r\n]/g, ''), 'without the white space inside it']
  yield [key.replace(/[\r\n]/g, ''), 'without the line endings inside it']
}

const swapCase = (letter: string): string =>
  letter.toLowerCase() === letter ? letter.toUpperCase() : letter.toLowerCase()

function* upperAndLowerCase({ text, bytes }: Source): Generator<Variant> {
  if (text !== undefined) {
    yield [text.toLowerCase(), 'in lower case']
    yield [text.toUpperCase(), 'in upper case']
    yield [text.replace(/^./su, swapCase), 'with its first letter in the other case']
    yield [text.replace(/\p{Lu}|\p{Ll}/gu, swapCase), 'typed with Caps Lock']
  }
  const hex = text?.replace(/[{}-]/g, '') ?? toHex(bytes)
  if (!/^[\da-f]{32}$/i.test(hex)) return
  const uuid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  for (const form of text?.includes('-')
    ? [hex, uuid, `{${uuid}}`, fromHex(hex)]
    : [uuid, uuid.toUpperCase(), `{${uuid}}`])
    yield [form, 'as a UUID in another form']
}

const plainQuotes = (text: string): string =>
  text.replace(/[\u2018\u2019\u201a\u201b]/g, "'").replace(/[\u201c-\u201f]/g, '"')

function* quotes(source: Source): Generator<Variant> {
  const { characters: key, bytes } = source
  const parsed = tryJson(key)
  if (typeof parsed === 'string') yield [parsed, 'parsed as a JSON string']
  yield* transforms.quotes(source)
  yield [key.replace(/^["'`]/, ''), 'without the quote at its start']
  yield [key.replace(/["'`]$/, ''), 'without the quote at its end']
  for (const mark of ['"', "'"])
    for (const end of ['\n', '\r\n', ',', ';']) yield added(bytes, mark, mark + end)
  yield [`b'${key}'`, 'as Python prints bytes']
  yield [JSON.stringify(key), 'as a JSON string']
  yield [plainQuotes(key), 'with plain quotes in place of typographic ones']
}

/** Decodes base64 as PHP, Node.js and Python do: other characters are skipped, and an incomplete byte is dropped. */
function fromLooseBase64(text: string): Uint8Array | undefined {
  const [data = ''] = text.replaceAll('-', '+').replaceAll('_', '/').split('=')
  const digits = data.replace(/[^A-Za-z0-9+/]/g, '')
  return fromBase64(digits.length % 4 === 1 ? digits.slice(0, -1) : digits)
}

function* encodings(source: Source): Generator<Variant> {
  const { characters: key, binary, text } = source
  yield* transforms.encodings(source)
  for (const [name, encode] of ENCODINGS.slice(0, 3))
    for (const end of ['', '\n']) yield [encode(`${binary}\n`) + end, `and a line feed, encoded in ${name}`]
  yield [fromBase64(key), 'decoded from base64']
  for (const characters of [key, key.replace(/[_-]/g, '')])
    yield [fromLooseBase64(characters), 'decoded from base64 by a decoder that skips other characters']
  const hex = /^(?:[0-9a-f]{2}){4,}/i.exec(key)?.[0] ?? 'x'
  yield [fromHex(hex), 'decoded from hex up to its first other character']
  if (text !== undefined) yield [toBase64(utf16(text, 'little')), 'encoded in UTF-16, then in base64']
  yield* transforms.byteLists(source)
  if (/^\d{1,40}$/.test(key)) yield [`${Number(key)}`, 'read as a number']
}

/** Characters that look like nothing or like a space. Web pages, chats, PDF files and dialogs of Windows add them. */
const CHARACTERS = ['\u200b', '\u00a0', '\u200e', '\u00ad', '\u2060', '\u202f', '\u200c', '\u200d', '\ufeff']

function* invisible({ characters: key, bytes }: Source): Generator<Variant> {
  const visible = key.replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '')
  yield [visible, 'without its invisible characters']
  const spaces = /[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g
  for (const value of [
    visible.replace(spaces, ''),
    visible.replace(spaces, ' ').trim(),
    key.replace(spaces, ''),
  ])
    yield [value, 'without its invisible characters and no-break spaces']
  yield [key.replaceAll(' ', '\u00a0'), 'with no-break spaces in place of spaces']
  for (const character of CHARACTERS) {
    const name = `U+${character.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`
    for (const [value] of [added(bytes, '', character), added(bytes, character)])
      yield [value, `with ${name} before or after it`]
  }
}

function* charsets(source: Source): Generator<Variant> {
  // A key that loses its other characters may be a word that many keys have.
  for (const variant of transforms.charsets(source))
    if (!/^without its non-ASCII/.test(variant[1])) yield variant
  yield* transforms.normalForms(source)
  yield* transforms.percentEncodings(source)
  yield [source.bytes.filter((byte) => byte !== 0), 'without its zero bytes']
}

/** A prefix that ends in `_`, such as `whsec_` or `sk_live_`, or the name of an encoding, such as `base64:`. */
const PREFIX = /^(?:[a-z][a-z\d]{0,9}_(?:live_|test_)?|(?:base64|b64|hex|utf8|utf-8|text|plain|raw):)/i

/** Standard Webhooks and Svix decode the rest after `whsec_` from base64. */
function* prefixes({ characters: key, bytes, binary }: Source): Generator<Variant> {
  const rest = PREFIX.test(key) ? key.replace(PREFIX, '') : undefined
  for (const [name, decode] of DECODINGS)
    yield [rest === undefined ? rest : decode(rest), `without its prefix, decoded from ${name}`]
  yield [rest, 'without its prefix']
  for (const prefix of ['0x', 'whsec_', 'secret_', 'sk_', 'key_', 'base64:', 'hex:'])
    yield added(bytes, prefix)
  for (const prefix of ['0x', 'hex:'])
    yield [prefix + toHex(bytes), `encoded in hex, with "${prefix}" before it`]
  for (const prefix of ['whsec_', 'base64:'])
    yield [prefix + btoa(binary), `encoded in base64, with "${prefix}" before it`]
}

/** The start of a line that sets a variable, in shells, .env files, YAML, JSON, PHP, Ruby and JavaScript. */
const START =
  /^(?:export |set |setx |ENV |const |let |var |\$env:|\$|--?)?["']?[A-Za-z_][\w.-]{0,99}["']? ?(?:=>|:=|[=:])/

/** Returns the value of a line such as `export NAME="value";`, as it is written there. */
const afterName = (line: string): string | undefined =>
  START.test(line) ? line.replace(START, '').trim() : undefined
const unquoteValue = (value: string | undefined): string | undefined =>
  value && unquote(value.replace(/[;,]$/, ''))

const SCHEME = /^(?:bearer|basic|token|hmac|hmac-sha256|sha256|shared|secret|key)[ :=]\s?/i

function* copied({ characters: key, bytes }: Source): Generator<Variant> {
  yield [unquoteValue(afterName(key)), 'without the name before it']
  yield [afterName(key), 'without the name before it, in its quotes']
  const [, , part] = /^[^[{"'`]+(["'`])([^"'`]+)\1/.exec(key) ?? []
  yield [part, 'without the text around its quotes']
  const end = key.search(/\s(?:#|;|\/\/)/) // a comment, as in `value # production`
  const bare = end < 0 ? key : key.slice(0, end).trim()
  yield [bare, 'without the comment after it']
  yield [unquoteValue(afterName(bare)), 'without the name before it and the comment after it']
  yield [key.replace(/[;,.:]$/, ''), 'without the punctuation at its end']
  yield [key.replace(SCHEME, ''), 'without the scheme before it']
  for (const mark of [';', ',', '.', ':']) yield added(bytes, '', mark)
  for (const before of ['Bearer ', 'sha256=', ...NAMES.map((name) => `${name}=`)]) yield added(bytes, before)
  for (const name of NAMES.slice(0, 5)) {
    yield added(bytes, `${name}="`, '"')
    yield added(bytes, `export ${name}=`)
  }
  const hyphens = plainQuotes(key).replace(/[\u2010-\u2014\u2212]/g, '-')
  yield [hyphens, 'with plain hyphens in place of typographic ones']
}

function* escapes(source: Source): Generator<Variant> {
  const { characters: key } = source
  yield* transforms.backslashes(source)
  for (const name of [/\$(?:\w+|\{[^{}]*\})/g, /\$(?:[A-Za-z_]\w*|\d|\{[^{}]*\})/g])
    yield [key.replace(name, ''), 'with its shell variables replaced by nothing']
  for (const mark of ['$', '#', ';', '\0'])
    if (key.includes(mark))
      yield [key.slice(0, key.indexOf(mark)).trim(), 'up to its first "$", "#", ";" or zero byte']
}

const split = (text: string, by: string | RegExp): string[] =>
  text.split(by, MAX_PARTS).flatMap((part) => unquote(part.trim()) || [])

function* lists({ characters: key }: Source): Generator<Variant> {
  if (/^[[{]/.test(key)) {
    const parsed = tryJson(key) as object | undefined
    for (const part of parsed ? Object.values(parsed).slice(0, MAX_PARTS) : split(key.slice(1, -1), ','))
      if (typeof part === 'string') yield [part, 'in the list on this side']
  }
  for (const by of [',', /[\r\n]+/, ';', '|', ':', /[ \t\r\n]+/])
    for (const part of split(key, by)) yield [part, 'before or after a separator in the text on this side']
  yield [`[${JSON.stringify(key)}]`, 'in a JSON array']
  for (const value of [key + key, `${key}\n${key}`]) yield [value, 'twice']
  const half = key.slice(0, key.length / 2)
  if (half + half === key) yield [half, 'once, which is twice in the text on this side']
}

/** Common lengths of database columns, form fields, and keys of ciphers. */
const LENGTHS = [32, 16, 64, 20, 24, 40, 50, 128, 255, 256, 100, 72, 8, 10, 12, 30, 48]

/** Keys that a column or a field cut, or filled up. HMAC-SHA256 itself fills up a key to 64 bytes with zeros. */
function* lengths({ characters: key, bytes }: Source): Generator<Variant> {
  for (const length of LENGTHS) {
    if (bytes.length > length) {
      yield [bytes.subarray(0, length), `cut to ${length} bytes`]
      yield [[...key].slice(0, length).join(''), `cut to ${length} characters`]
    } else if (length >= 16) {
      yield [key.padEnd(length), `filled up with spaces to ${length} characters`]
      const zeros = new Uint8Array(length - bytes.length)
      if (length > 64) yield [concat([bytes, zeros]), `filled up with zero bytes to ${length} bytes`]
    }
  }
}

const FAMILIES: Families = [
  ['key_whitespace', whiteSpace],
  ['key_case', upperAndLowerCase],
  ['key_quotes', quotes],
  ['key_encoding', encodings],
  ['key_invisible', invisible],
  ['key_encoding', charsets],
  ['key_prefix', prefixes],
  ['key_copied', copied],
  ['key_html', transforms.html],
  ['key_escaped', escapes],
  ['key_list', lists],
  ['key_truncated', lengths],
]

/** The few hypotheses that are most likely, and that are also tested together with a mistake in the body. */
const LIKELY = new Set([
  ...['without white space around it', 'with "\\n" after it', 'with "\\r\\n" after it', 'in the quotes ""'],
  ...['without the quotes around it', 'decoded from hex', 'decoded from base64', 'without its prefix'],
  ...['encoded in base64, with a line feed at its end', 'and a line feed, encoded in base64'],
  ...['without its prefix, decoded from base64', 'without the name before it'],
])

export const likelyKeys = (bytes: Uint8Array): Hypothesis[] =>
  distinct(bytes, [['key_empty', '', 'an empty key'], ...apply(bytes, true), ...placeholders(1)])

/** Returns what the sender may have used in place of this key, likely mistakes first. */
export const keyHypotheses = (bytes: Uint8Array): Hypothesis[] =>
  bytes.length > MAX_KEY
    ? likelyKeys(bytes)
    : distinct(bytes, [...likelyKeys(bytes), ...placeholders(), ...apply(bytes)]).slice(0, MAX_HYPOTHESES)

export const rareKeys = (bytes: Uint8Array): Hypothesis[] =>
  keyHypotheses(bytes).slice(likelyKeys(bytes).length)

const placeholders = (count?: number): Hypothesis[] =>
  PLACEHOLDERS.slice(0, count).map((text) => [
    'key_placeholder',
    text,
    'a text in place of a key that is not set',
  ])

function* apply(received: Uint8Array, isLikely = false): Generator<Hypothesis> {
  const source = createSource(trim(received))
  const { bytes } = source
  const note =
    bytes.length === received.length ? '' : ', after white space around the key on this side was removed'
  for (const [cause, value, description] of changesOf(source, FAMILIES))
    if (!isLikely || LIKELY.has(description))
      yield [cause, value, `the key ${description}${value === bytes ? '' : note}`]
}

/** Leaves out values that are the same HMAC key as an earlier one or as the receiver's key. */
function distinct(key: Uint8Array, hypotheses: readonly Hypothesis[]): Hypothesis[] {
  const seen = new Set([toHmacKey(key)])
  return hypotheses.filter(([, value]) => seen.size < seen.add(toHmacKey(value)).size)
}

/** HMAC-SHA256 pads a key with zeros to 64 bytes (RFC 2104), so zeros at the end of a short key make no difference. */
function toHmacKey(value: BytesOrText): string {
  // ASCII text is compared as it is, because converting it to bytes would take most of the time.
  const isAscii = typeof value === 'string' && /^[\0-\x7f]*$/.test(value)
  const text = isAscii ? value : toBinary(typeof value === 'string' ? utf8(value) : value)
  let end = text.length
  if (end <= 64) while (text[end - 1] === '\0') end--
  return text.slice(0, end)
}

const JOINED = 'several keys on this side, joined into one text'

/** Returns hashes of each key, and several keys joined to one text, which the sender may have used as the key. */
export async function hashedAndJoinedKeys(keys: readonly Uint8Array[]): Promise<Hypothesis[]> {
  const hypotheses: Hypothesis[] = []
  for (const key of keys) {
    for (const [name, digest] of await commonHashes(trim(key))) {
      const what = `the ${name} of the key`
      hypotheses.push(['key_hashed', digest, what])
      for (const [notation, encode] of ENCODINGS.slice(0, 3))
        hypotheses.push(['key_hashed', encode(toBinary(digest)), `${what} in ${notation}`])
    }
  }
  if (keys.length < 2 || keys.length > MAX_PARTS) return hypotheses
  const bare = keys.map((key) => toBinary(trim(key)))
  for (const order of [bare, [...bare].reverse()])
    for (const by of [',', ', ', ';', '\n', ' '])
      hypotheses.push(['key_list', fromBinary(order.join(by)), JOINED])
  return hypotheses
}
