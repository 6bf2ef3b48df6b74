import { toBase64 } from '../shared/bytes.ts'
import { toBinary } from './bodies/source.ts'
import { fromBase64, fromHex, toBase32, toHex } from './codecs.ts'
import { decodeAs, trim } from './text.ts'

/** Maximum size in bytes of the part of a key that names are compared with in all notations. */
const MAX_KEY = 4096

/** A name contains a key if this many letters and digits are the same. For a shorter key, half of it is enough. */
const MAX_SAME = 12
const MIN_SAME = 4

/**
 * Returns true for a name that evidence may show: a word as people write it, in which there is no part of a key. The
 * sender chooses the names, and may have confused a name with a key or a signature.
 */
export const isShown = (name: string, keys: readonly Uint8Array[]): boolean =>
  /^[\w$.-]{1,40}$/.test(name) && !isRandom(name) && !containsKey(name, keys)

/** Returns true for hex digits, for a long word, and for digits in three or more places, as in base64. */
const isRandom = (name: string): boolean =>
  /[0-9a-f]{12}|[a-z\d]{25}/i.test(name) || (name.match(/\d+/g) ?? []).length > 2

/** Returns the name after other words, or an empty text if evidence may not show it. */
export const shown = (before: string, name: string, keys: readonly Uint8Array[]): string =>
  isShown(name, keys) ? `${before} ${name}` : ''

/** Returns true if a text contains a key, or a half of it, in any notation. */
export function containsKey(text: string, keys: readonly Uint8Array[]): boolean {
  const lower = text.toLowerCase()
  const letters = lettersOf(text)
  return keys.some((key) => {
    const start = trim(key).subarray(0, MAX_KEY)
    const written = toBinary(start)
    if (start.length > 0 && lower.includes(written.toLowerCase())) return true
    const decoded = [start, fromHex(written), fromBase64(written)]
    const notations = decoded.flatMap((bytes) =>
      bytes ? [toHex(bytes), toBase64(bytes), toBase32(bytes)] : [],
    )
    if (decodeAs(start, 'utf-8') !== undefined) notations.push(written)
    return notations.some((notation) => haveInCommon(lettersOf(notation), letters))
  })
}

/** Quotes, prefixes and separators do not hide a key. */
const lettersOf = (text: string): string => text.toLowerCase().replace(/[^a-z\d]/g, '')

function haveInCommon(key: string, text: string): boolean {
  const size = Math.max(MIN_SAME, Math.min(MAX_SAME, Math.ceil(key.length / 2)))
  for (let start = 0; start + size <= text.length; start++)
    if (key.includes(text.slice(start, start + size))) return true
  return false
}
