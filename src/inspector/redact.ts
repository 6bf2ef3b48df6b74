import type { HeaderBag } from '../receiver/headers.ts'
import type { SignatureKey } from '../signature/keyring.ts'
import { createFinder, MIN_FOUND } from './find-texts.ts'
import type { HeaderPairs } from './source.ts'

/** What a page shows in place of a secret. */
export const HIDDEN = '***'

/** True if something of a header was hidden: then it cannot be sent again as it was. */
export const isHidden = ([name, value]: readonly [string, string]): boolean =>
  name.includes(HIDDEN) || value.includes(HIDDEN)

/** Headers with credentials. Organizations send their key in `secret`. */
const CREDENTIALS = /^(secret|authorization|proxy-authorization|cookie|set-cookie)$/i

/** One pair for each value of a repeated header. */
export function toPairs(headers: HeaderBag | HeaderPairs): HeaderPairs {
  if (Array.isArray(headers)) return headers as HeaderPairs
  return Object.entries(headers as HeaderBag).flatMap(([name, value = []]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  )
}

/** Hides the values of headers with credentials. */
export const hideCredentials = (headers: HeaderPairs): HeaderPairs =>
  headers.map(([name, value]) => [name, CREDENTIALS.test(name) ? HIDDEN : value])

/** Hides keys. */
export interface Redactor {
  /** Hides headers with credentials, and keys in the names and values of other headers. */
  headers(headers: HeaderBag | HeaderPairs): HeaderPairs
  /**
   * Hides keys in a URL, an error, or the body of a response.
   *
   * @param limit number of characters of the text to return; keys that begin among them are hidden completely
   */
  text(text: string, limit?: number): string
}

/**
 * @param signatureHeader is never hidden as a header with credentials, because its value is a signature
 * @param secretHeader is hidden like a header with credentials; in lower case
 */
export function createRedactor(
  keys: readonly SignatureKey[],
  signatureHeader = '',
  secretHeader?: string,
): Redactor {
  const text = createHide(keys)
  const lowerCaseKeys = keys.map((key) => (typeof key === 'string' ? key.toLowerCase() : key))
  const hideInName = createHide(lowerCaseKeys)
  const signatureName = signatureHeader.toLowerCase()

  function redact([name, value]: HeaderPairs[number]): HeaderPairs[number] {
    const lowerCase = name.toLowerCase()
    if (lowerCase === signatureName) return [name, text(value)]
    const hidden = hideInName(lowerCase)
    const isSecret = CREDENTIALS.test(name) || lowerCase === secretHeader
    return [hidden === lowerCase ? name : hidden, isSecret ? HIDDEN : text(value)]
  }

  return { text, headers: (headers) => toPairs(headers).map(redact) }
}

/** A character of a key has up to 18 characters if it is escaped as in JSON, and then percent-encoded: `%5C%75%30…`. */
const MAX_ESCAPED = 18

/** Short keys are hidden only where they are the whole text: they occur in unrelated text by chance. */
function createHide(keys: readonly SignatureKey[]): Redactor['text'] {
  const known = textsOfKeys(keys)
  const wanted = [...encodedTextsOfKeys(keys.filter(({ length }) => length >= MIN_FOUND))]
  const find = createFinder(wanted)
  const longest = wanted.reduce((length, text) => Math.max(length, text.length), 0)
  return (text, limit = text.length) => {
    if (known.has(text)) return HIDDEN
    let result = ''
    let shownUntil = 0
    for (const [start, end] of find(text.slice(0, limit + longest * MAX_ESCAPED))) {
      if (start >= limit) break
      if (start >= shownUntil) result += text.slice(shownUntil, start) + HIDDEN
      shownUntil = Math.max(shownUntil, end)
    }
    return result + text.slice(shownUntil, limit)
  }
}

/**
 * Returns the texts as which keys can appear in headers. Platforms decode headers as Latin-1, so a key in UTF-8
 * appears as one character per byte.
 */
export const textsOfKeys = (keys: readonly SignatureKey[]): ReadonlySet<string> =>
  new Set(
    keys.flatMap((key) => {
      const bytes = Buffer.from(key as Uint8Array) // also encodes a string as UTF-8
      return bytes.length === 0 ? [] : [bytes.toString(), bytes.toString('latin1')]
    }),
  )

/**
 * Returns the texts as which keys can appear inside text whose percent-encoding and backslashes are decoded: as they
 * are, with a plus for each space as in forms, in hex and in base64.
 */
function encodedTextsOfKeys(keys: readonly SignatureKey[]): ReadonlySet<string> {
  const plain = [...textsOfKeys(keys)]
  const inForms = plain.map((text) => text.replaceAll(' ', '+'))
  const inBytes = keys.flatMap(bytesOf).flatMap((bytes) => {
    const hex = bytes.toString('hex')
    return [hex, hex.toUpperCase(), bytes.toString('base64').replaceAll('=', ''), bytes.toString('base64url')]
  })
  return new Set([...plain, ...inForms, ...inBytes])
}

/** The bytes of a key as UTF-8 and, if possible, as Latin-1. */
const bytesOf = (key: SignatureKey): Buffer[] => [
  Buffer.from(key as Uint8Array),
  ...(typeof key === 'string' && Buffer.from(key, 'latin1').toString('latin1') === key
    ? [Buffer.from(key, 'latin1')]
    : []),
]
