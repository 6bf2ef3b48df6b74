import { toBinary, utf8 } from './bytes.ts'
import { type HeaderBag, type HeaderPairs, toPairs } from './headers.ts'

/** A key, a token or a password. A string means its UTF-8 bytes. */
export type Secret = string | Uint8Array

/** What is shown in place of a secret. */
export const HIDDEN = '***'

/** True if a part of a header was hidden, so that it cannot be sent again unchanged. */
export const isHidden = ([name, value]: readonly [string, string]): boolean =>
  name.includes(HIDDEN) || value.includes(HIDDEN)

/** Headers with credentials. Organizations send their key in `secret`. */
const SECRET_HEADER =
  /^(?:(?:set-)?cookie|(?:.*-)?(?:secret|authorization|token|password|apikey|(?:api|functions|subscription)-key))$/i

/** Members of JSON, form fields and query parameters whose values are secrets. */
const SECRET_MEMBER =
  /^(?:(?:access|auth|id|refresh)?[_-]?token|(?:client|shared)?[_-]?secret|(?:api|shared|signature|subscription)[_-]?key|(?:ssl)?password|passwd|pwd)$/i
/** Secrets in a query only: `code` is a key of Azure, `sig` gives access to a file. In JSON, these names are common. */
const SECRET_PARAMETER = /^(?:code|key|sig)$/i

/** Headers that most requests have. A key that is a word, such as `content`, must not make a capture useless. */
const ORDINARY_NAME =
  /^(?:host|connection|date|accept(?:-encoding)?|content-(?:encoding|length|type)|transfer-encoding|user-agent|x-service|x-esrihook-signature)$/
const ORDINARY_TYPE = /^application\/(?:json|x-www-form-urlencoded)(?:; ?charset=utf-8)?$/i

export const isSecretHeader = (name: string): boolean => SECRET_HEADER.test(name)
export const isSecretMember = (name: string): boolean => SECRET_MEMBER.test(name)
export const isSecretParameter = (name: string): boolean =>
  SECRET_MEMBER.test(name) || SECRET_PARAMETER.test(name)

/** Hides secrets. */
export interface Redactor {
  /**
   * Hides known secrets in any text, however they are encoded (see `spellingsOf`), the values of secret parameters in
   * URLs and forms, and passwords in URLs. The time is linear in the length of the text, and does not depend on the
   * number of secrets.
   *
   * @param limit number of characters of the text to return; hides all of a secret that begins within them
   */
  text(text: string, limit?: number): string
  /** Hides headers with credentials, and secrets in the names and values of other headers. */
  headers(headers: HeaderBag | HeaderPairs): HeaderPairs
}

/**
 * @param signatureHeader is never hidden as a header with credentials, because its value is a signature
 * @param secretHeader is hidden like a header with credentials
 */
export function createRedactor(
  secrets: readonly Secret[],
  {
    signatureHeader = '',
    secretHeader,
  }: { signatureHeader?: string; secretHeader?: string | undefined } = {},
): Redactor {
  const spellings = new Map(secrets.flatMap((secret) => [...spellingsOf(secret)]))
  const short = new Set(secrets.flatMap(textsOf).filter(({ length }) => length < MIN_FOUND))
  const find = createFinder(spellings)
  const longest = [...spellings.keys()].reduce((length, { length: own }) => Math.max(length, own), 0)
  const signatureName = signatureHeader.toLowerCase()
  const secretName = secretHeader?.toLowerCase()

  function text(given: string, limit = given.length): string {
    const spans: Span[] = []
    for (const { text, offsets } of levelsOf(given.slice(0, limit + longest * MAX_ESCAPED)))
      for (const found of [find(text), findShort(text, short), findParameters(text)])
        for (const [start, end] of found) spans.push([offsets?.[start] ?? start, offsets?.[end] ?? end])
    let result = ''
    let shownUntil = 0
    for (const [start, end] of spans.sort(([a], [b]) => a - b)) {
      if (start >= limit) break
      if (start >= shownUntil) result += given.slice(shownUntil, start) + HIDDEN
      shownUntil = Math.max(shownUntil, end)
    }
    return result + given.slice(shownUntil, limit)
  }

  function header([name, value]: HeaderPairs[number]): HeaderPairs[number] {
    const lowerCase = name.toLowerCase()
    const isOrdinary = lowerCase === signatureName || ORDINARY_NAME.test(lowerCase)
    const hidden = isOrdinary ? lowerCase : text(lowerCase)
    const isSecret = lowerCase === secretName || (isSecretHeader(name) && lowerCase !== signatureName)
    if (lowerCase === 'content-type' && ORDINARY_TYPE.test(value) && !isSecret) return [name, value]
    return [hidden === lowerCase ? name : hidden, isSecret ? HIDDEN : text(value)]
  }

  return { text, headers: (headers) => toPairs(headers).map(header) }
}

/** Start and end of a part of a text. */
type Span = readonly [start: number, end: number]

/** Shorter secrets occur in unrelated text by chance, so they are hidden only if they are a whole value. */
const MIN_FOUND = 4

/** Maximum number of times that a text is decoded. For example, JSON can contain a URL, which contains escaped text. */
const MAX_DECODED = 4
/** Maximum length of one escaped character: 54 if it is escaped as in JSON, and then percent-encoded twice. */
const MAX_ESCAPED = 54

const bytesOf = (secret: Secret): Uint8Array => (typeof secret === 'string' ? utf8(secret) : secret)

/** Returns the texts as which a secret can appear in a header: as it is, and its UTF-8 bytes decoded as Latin-1. */
export function textsOf(secret: Secret): string[] {
  const bytes = bytesOf(secret)
  const texts = [toBinary(bytes)]
  try {
    texts.push(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {} // not UTF-8
  return [...new Set(texts)].filter((text) => text !== '')
}

/** How many characters before and after a match also contain bits of the secret (in base64). */
type Edges = readonly [before: number, after: number]

/**
 * Yields the forms in which a secret can appear in decoded text, folded: plain, in hex, and in base64, alone or as part
 * of a longer text such as `user:secret`. Also in lower case, because host names and header names become lower case.
 */
function* spellingsOf(secret: Secret): Generator<[string, Edges]> {
  const utf8 = toBinary(bytesOf(secret))
  const isLatin1 = typeof secret === 'string' && /^[\0-\xff]*$/.test(secret)
  for (const text of textsOf(secret))
    for (const level of levelsOf(text))
      for (const spelling of [level.text, level.text.toLowerCase()])
        if (spelling.length >= MIN_FOUND) yield [fold(spelling), [0, 0]]
  for (const binary of new Set([utf8, ...(isLatin1 ? [secret] : [])])) {
    if (binary.length < MIN_FOUND - 1) continue
    const hex = Array.from(binary, (byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('')
    yield [hex, [0, 0]]
    yield [hex.toUpperCase(), [0, 0]]
    for (const before of [0, 1, 2]) {
      const bits = 8 * (before + binary.length)
      const whole = btoa('\0'.repeat(before) + binary).slice(
        Math.ceil((8 * before) / 6),
        Math.floor(bits / 6),
      )
      if (whole.length >= MIN_FOUND) yield [fold(whole), [before > 0 ? 1 : 0, bits % 6 > 0 ? 1 : 0]]
    }
  }
}

/** Makes base64 and base64url equal, and spaces and `+`, which mean the same in forms. Keeps the length. */
const fold = (text: string): string => text.replace(/[ -]/g, '+').replaceAll('_', '/')

/** Returns a function that finds folded spellings. Its time does not depend on their number. */
function createFinder(spellings: ReadonlyMap<string, Edges>): (text: string) => Iterable<Span> {
  const isHead = new Uint8Array(HEADS)
  const lengths = new Map<number, Set<number>>()
  for (const spelling of spellings.keys()) {
    const head = headAt(spelling, 0)
    isHead[head % HEADS] = 1
    lengths.set(head, (lengths.get(head) ?? new Set()).add(spelling.length))
  }
  if (lengths.size === 0) return () => []
  return function* (unfolded) {
    const text = fold(unfolded)
    for (let start = 0; start + MIN_FOUND <= text.length; start++) {
      const head = headAt(text, start)
      if (isHead[head % HEADS] === 0) continue
      for (const length of lengths.get(head) ?? []) {
        const edges = spellings.get(text.slice(start, start + length))
        if (edges) yield [Math.max(0, start - edges[0]), Math.min(text.length, start + length + edges[1])]
      }
    }
  }
}

const HEADS = 65_521

/** A hash of the four characters from `at` on. */
const headAt = (text: string, at: number): number =>
  (text.charCodeAt(at) ^
    (text.charCodeAt(at + 1) << 8) ^
    (text.charCodeAt(at + 2) << 16) ^
    (text.charCodeAt(at + 3) << 24)) >>>
  0

/** Finds short secrets where they are a whole value, for example in `key=abc`, `"abc"` or `Bearer abc`. */
function* findShort(text: string, secrets: Iterable<string>): Generator<Span> {
  for (const secret of secrets) {
    for (let start = text.indexOf(secret); start >= 0; start = text.indexOf(secret, start + 1)) {
      const end = start + secret.length
      const isValue =
        start === 0
          ? end === text.length || /[^\w\s]/.test(text[end] as string)
          : /(?:[^\w\s.-]|Bearer |Basic )$/i.test(text.slice(Math.max(0, start - 7), start))
      if (isValue && !/^\w/.test(text.slice(end, end + 1))) yield [start, end]
    }
  }
}

const PARAMETER = /(^|[\s"'(?&;#])([\w-]{1,30})=/g
const VALUE = /[^\s&;#"'<>\\]+/y
/** The user name can be empty, and the password ends at the last `@` before the path. */
const USER_INFO = /:\/\/[^\s/?#"'<>\\:@]*:([^\s/?#"'<>\\]+)@/g

/** Finds the values of secret parameters in URLs and forms, and passwords in URLs. */
function* findParameters(text: string): Generator<Span> {
  for (const { 0: start, 1: before = '', 2: name = '', index } of text.matchAll(PARAMETER)) {
    if (!(/[?&;#]/.test(before) ? isSecretParameter(name) : isSecretMember(name))) continue
    VALUE.lastIndex = index + start.length
    const value = VALUE.exec(text)
    if (value) yield [value.index, VALUE.lastIndex]
  }
  for (const { 0: found, 1: password = '', index } of text.matchAll(USER_INFO)) {
    const end = index + found.length - 1
    yield [end - password.length, end]
  }
}

/** A decoded text, and the position in the original text at which each of its characters begins. */
interface Level {
  text: string
  /** One position per character, and that of the end. Undefined for the original text. */
  offsets?: Uint32Array
}

/** Yields a text, then the result of decoding it once, twice, and so on. */
function* levelsOf(text: string): Generator<Level> {
  let level: Level = { text }
  for (let round = 0; ; round++) {
    yield level
    const { length } = level.text
    if (round === MAX_DECODED || !/[%\\&]/.test(level.text)) return
    level = decode(level)
    if (level.text.length === length) return // an escape sequence is longer than its character, so nothing was decoded
  }
}

const ESCAPED =
  /%([\da-f]{2})|\\u([\da-f]{4})|\\u\{([\da-f]{1,6})\}|\\x([\da-f]{2})|&#x([\da-f]{1,6});|&#(\d{1,7});|&(amp|lt|gt|quot|apos);|\\(.)/gi

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Decodes percent-encoded bytes to Latin-1, as platforms decode headers, and escaped characters of JSON and HTML. */
function decode({ text, offsets }: Level): Level {
  const starts = new Uint32Array(text.length + 1)
  let result = ''
  let length = 0
  let end = 0
  function copyUntil(next: number): void {
    result += text.slice(end, next)
    for (let at = end; at < next; at++) starts[length++] = offsets?.[at] ?? at
  }
  for (const match of text.matchAll(ESCAPED)) {
    const [escaped, byte, unit, point, escapedByte, entityHex, entityDecimal, entity, character] = match
    const hex = byte ?? unit ?? point ?? escapedByte ?? entityHex
    const code = hex === undefined ? Number(entityDecimal) : Number.parseInt(hex, 16)
    const decoded = entity ? ENTITIES[entity.toLowerCase()] : (character ?? toCharacter(code))
    copyUntil(match.index)
    for (let unit = 0; unit < (decoded?.length ?? 0); unit++)
      starts[length++] = offsets?.[match.index] ?? match.index
    result += decoded
    end = match.index + escaped.length
  }
  copyUntil(text.length)
  starts[length++] = offsets?.[text.length] ?? text.length
  return { text: result, offsets: starts.subarray(0, length) }
}

const toCharacter = (code: number): string => (code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd')
