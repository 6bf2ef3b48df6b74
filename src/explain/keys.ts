import { toBinary, utf8 } from '../shared/bytes.ts'
import type { Cause } from './causes.ts'
import { CASE } from './keys/case.ts'
import { CHARSETS } from './keys/charsets.ts'
import { COPIED } from './keys/copied.ts'
import { CUT } from './keys/cut.ts'
import { DECODED, ENCODED } from './keys/encodings.ts'
import { ESCAPED, HTML, PERCENT } from './keys/escapes.ts'
import { INVISIBLE } from './keys/invisible.ts'
import { encodeLike, type Key, type KeyTable, readKey } from './keys/key-table.ts'
import { LISTS } from './keys/lists.ts'
import { PLACEHOLDERS } from './keys/placeholders.ts'
import { PREFIXES } from './keys/prefixes.ts'
import { QUOTES } from './keys/quotes.ts'
import { TYPOGRAPHY } from './keys/typography.ts'
import { WHITE_SPACE } from './keys/white-space.ts'
import { trim } from './text.ts'
import type { BytesOrText, Hypothesis } from './types.ts'

/** Maximum number of hypotheses for one key. Each of them costs one HMAC of the body. */
const MAX_KEY_HYPOTHESES = 250

/** Largest key, in bytes, for which all hypotheses are tested. A longer key gets only the common ones. */
const MAX_KEY = 1024

const EMPTY: KeyTable = ['key_empty', [['an empty key', () => '', 'common']]]

/** All hypotheses about a key. Likely mistakes come first. */
const TABLES: readonly KeyTable[] = [
  EMPTY,
  WHITE_SPACE,
  CASE,
  QUOTES,
  DECODED,
  ENCODED,
  INVISIBLE,
  CHARSETS,
  PERCENT,
  PREFIXES,
  COPIED,
  TYPOGRAPHY,
  HTML,
  ESCAPED,
  LISTS,
]

/** Hypotheses that do not depend on the characters of the key. */
const OTHER_TABLES: readonly KeyTable[] = [CUT, PLACEHOLDERS]

/** Causes of hypotheses that do not start from the key. */
const INDEPENDENT: readonly Cause[] = ['key_empty', 'key_placeholder']

/** Tables that are also applied to a key before white space around it is removed. */
const WITH_SPACE: readonly KeyTable[] = [ENCODED, CHARSETS, PERCENT, CASE]

/** Yields what the sender may have used in place of this key, likely mistakes first. */
export function* keyHypotheses(bytes: Uint8Array): Generator<Hypothesis> {
  let count = 0
  for (const hypothesis of distinct(bytes, allHypotheses(bytes))) {
    yield hypothesis
    if (++count === MAX_KEY_HYPOTHESES) return
  }
}

/** Yields only the most likely of these hypotheses, which are also combined with other mistakes. */
export const commonKeyHypotheses = (bytes: Uint8Array): Iterable<Hypothesis> =>
  distinct(bytes, commonHypotheses(bytes))

/** Yields the other hypotheses. */
export function* rareKeyHypotheses(bytes: Uint8Array): Generator<Hypothesis> {
  let common = [...commonKeyHypotheses(bytes)].length
  for (const hypothesis of keyHypotheses(bytes)) if (--common < 0) yield hypothesis
}

function* allHypotheses(bytes: Uint8Array): Generator<Hypothesis> {
  yield* commonHypotheses(bytes)
  if (bytes.length > MAX_KEY) return
  const bare = trim(bytes)
  yield* apply(TABLES, readKey(bare), trimmed(bytes))
  if (bare.length < bytes.length) yield* apply(WITH_SPACE, readKey(bytes))
  yield* apply(OTHER_TABLES, readKey(bare), trimmed(bytes))
}

const commonHypotheses = (bytes: Uint8Array): Generator<Hypothesis> =>
  apply(COMMON, readKey(trim(bytes)), trimmed(bytes))

/** Ends the description of a change to a key that had white space around it, which is removed first. */
const trimmed = (bytes: Uint8Array): string =>
  trim(bytes).length < bytes.length ? ', after white space around the key on this side was removed' : ''

const COMMON: readonly KeyTable[] = [...TABLES, ...OTHER_TABLES].map(([cause, rows]) => [
  cause,
  rows.filter(([, , isCommon]) => isCommon),
])

function* apply(tables: readonly KeyTable[], key: Key, note = ''): Generator<Hypothesis> {
  for (const [cause, rows] of tables) {
    for (const [description, change] of rows) {
      const changed = change(key.text, key)
      if (changed === undefined) continue
      const values = typeof changed === 'string' || changed instanceof Uint8Array ? [changed] : changed
      const text = changed === key.text || INDEPENDENT.includes(cause) ? description : description + note
      for (const value of values)
        yield [cause, typeof value === 'string' && !key.isText ? encodeLike(key, value) : value, text]
    }
  }
}

/** Skips values that are the same HMAC key as an earlier one or as the receiver's key. */
function* distinct(key: Uint8Array, hypotheses: Iterable<Hypothesis>): Generator<Hypothesis> {
  const seen = new Set([toHmacKey(key)])
  for (const hypothesis of hypotheses) {
    const hmacKey = toHmacKey(hypothesis[1])
    if (seen.has(hmacKey)) continue
    seen.add(hmacKey)
    yield hypothesis
  }
}

/** ASCII text is compared as it is, because converting it to bytes would take most of the time. */
const isAscii = (value: BytesOrText): value is string =>
  typeof value === 'string' && /^[\0-\x7f]*$/.test(value)

/** HMAC-SHA256 pads a key with zeros to 64 bytes (RFC 2104), so zeros at the end of a short key make no difference. */
function toHmacKey(value: BytesOrText): string {
  const text = isAscii(value) ? value : toBinary(typeof value === 'string' ? utf8(value) : value)
  let end = text.length
  if (end <= 64) while (text[end - 1] === '\0') end--
  return text.slice(0, end)
}
