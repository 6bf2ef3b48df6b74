import type { HeaderBag } from '../receiver/headers.ts'
import type { SignatureKey } from '../signature/keyring.ts'
import type { HeaderPairs } from './source.ts'

/** What a page shows in place of a secret. */
export const HIDDEN = '***'

/** Shorter keys are hidden only where they are the whole text: they occur in unrelated text by chance. */
const MIN_IN_TEXT = 4

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
  /** Hides headers with credentials, and keys in other headers. */
  headers(headers: HeaderBag | HeaderPairs): HeaderPairs
  /** Hides keys in a URL, an error, or the body of a response. */
  text(text: string): string
}

/** @param signatureHeader is never hidden as a header with credentials, because its value is a signature */
export function createRedactor(keys: readonly SignatureKey[], signatureHeader = ''): Redactor {
  const known = textsOfKeys(keys)
  const longKeys = keys.filter(({ length }) => length >= MIN_IN_TEXT)
  // The longest first, so that no part of an encoded key stays.
  const parts = [...encodedTextsOfKeys(longKeys)].sort((a, b) => b.length - a.length)
  const name = signatureHeader.toLowerCase()
  const isSecret = (header: string): boolean => CREDENTIALS.test(header) && header.toLowerCase() !== name
  const text = (value: string): string =>
    known.has(value) ? HIDDEN : parts.reduce((rest, part) => rest.replaceAll(part, HIDDEN), value)
  return {
    text,
    headers: (headers) =>
      toPairs(headers).map(([header, value]) => [header, isSecret(header) ? HIDDEN : text(value)]),
  }
}

/**
 * Returns the texts as which keys can appear in headers. Platforms decode headers as Latin-1, so a key that was sent as
 * UTF-8 appears as one character per byte.
 */
export const textsOfKeys = (keys: readonly SignatureKey[]): ReadonlySet<string> =>
  new Set(
    keys.flatMap((key) => {
      const bytes = Buffer.from(key as Uint8Array) // also encodes a string as UTF-8
      return bytes.length === 0 ? [] : [bytes.toString(), bytes.toString('latin1')]
    }),
  )

/**
 * Returns the texts as which a key can appear inside other text: as it is, percent-encoded as in URLs and forms, in hex
 * and in base64.
 */
function encodedTextsOfKeys(keys: readonly SignatureKey[]): ReadonlySet<string> {
  const plain = [...textsOfKeys(keys)]
  const inUrls = plain.flatMap((text) => [
    encodeURIComponent(text),
    new URLSearchParams([['', text]]).toString().slice(1),
  ])
  const lowerCase = inUrls.map((text) => text.replace(/%../g, (code) => code.toLowerCase()))
  const inBytes = keys.flatMap((key) => {
    const bytes = Buffer.from(key as Uint8Array)
    const hex = bytes.toString('hex')
    const base64 = bytes.toString('base64').replaceAll('=', '')
    return [hex, hex.toUpperCase(), base64, bytes.toString('base64url'), encodeURIComponent(base64)]
  })
  return new Set([...plain, ...inUrls, ...lowerCase, ...inBytes])
}
