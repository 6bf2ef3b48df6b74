import { fromBinary, toBinary, utf8 } from '../../shared/bytes.ts'
import type { Cause } from '../causes.ts'
import { decodeAs } from '../text.ts'
import type { BytesOrText } from '../types.ts'

/** The receiver's key, from which the hypotheses are computed. */
export interface Key {
  bytes: Uint8Array
  /** The key decoded as UTF-8, or as Latin-1 if it is not valid UTF-8. */
  text: string
  /** True if the key is valid UTF-8. */
  isText: boolean
}

/**
 * One hypothesis. The description completes the sentence "The signature was computed with …". The function returns the
 * sender's key, or several, or undefined if the hypothesis does not fit this key. Text means its UTF-8 bytes.
 */
export type KeyRow = readonly [
  description: string,
  change: (text: string, key: Key) => BytesOrText | readonly BytesOrText[] | undefined,
  /** Marks the few most likely hypotheses, which are also tested together with a mistake in the body. */
  isCommon?: 'common' | undefined,
]

/** Hypotheses with the same cause, likely ones first. */
export type KeyTable = readonly [cause: Cause, rows: readonly KeyRow[]]

export function readKey(bytes: Uint8Array): Key {
  const text = decodeAs(bytes, 'utf-8')
  return { bytes, text: text ?? toBinary(bytes), isText: text !== undefined }
}

/** Encodes a changed text. In a key that is not text, each character up to U+00FF is a byte of the key. */
export function encodeLike({ isText }: Key, text: string): Uint8Array {
  if (isText) return utf8(text)
  return fromBinary(text.replace(/[^\0-\xff]/gu, (character) => toBinary(utf8(character))))
}
