import type { Cause } from '../causes.ts'
import { MAX_TEXTS, rewriteJson } from '../json/rewrite.ts'
import { decodeAs } from '../text.ts'
import type { Hypothesis, Variant } from '../types.ts'
import { base64Variants } from './base64.ts'
import { charsetVariants } from './charsets.ts'
import { compressionVariants } from './compression.ts'
import { bomVariants, leadingVariants, lineEndingVariants, nulVariants, trailingVariants } from './ends.ts'
import { escapeVariants, quoteVariants } from './escapes.ts'
import { eventVariants, wrapperVariants } from './events.ts'
import { formFieldVariants, formVariants, multipartVariants } from './forms.ts'
import { jsonStringVariants } from './json-string.ts'
import { normalizedVariants } from './normalized.ts'
import { createSource, type Source } from './source.ts'
import { lostTextVariants, stringifiedVariants } from './stringified.ts'

/** A group of hypotheses with the same cause. */
type Family = readonly [cause: Cause, variants: (source: Source) => Iterable<Variant>]

/** Families with few hypotheses, which take about as long as reading the body a few times. */
const CHEAP: readonly Family[] = [
  ['body_empty', () => [['', 'an empty body']]],
  ['body_line_endings', lineEndingVariants],
  ['body_trailing_newline', trailingVariants],
  ['body_bom', bomVariants],
  ['body_form_field', formFieldVariants],
  ['body_leading_space', leadingVariants],
  ['body_nul', nulVariants],
  ['body_stringified', lostTextVariants],
]

/** Families with many hypotheses, likely ones first. */
const EXPENSIVE: readonly Family[] = [
  ['body_event', eventVariants],
  ['body_json_string', jsonStringVariants],
  ['body_form_field', multipartVariants],
  ['body_form_decoded', formVariants],
  ['body_charset', charsetVariants],
  ['body_normalized', normalizedVariants],
  ['body_base64', base64Variants],
  ['body_escaped', escapeVariants],
  ['body_event', wrapperVariants],
  ['body_stringified', stringifiedVariants],
  ['body_escaped', quoteVariants],
]

/** Yields the JSON of this body in other notations, likely ones first, at most the given number of them. */
export function* writtenBodies(body: Uint8Array, maxTexts: number = MAX_TEXTS): Generator<Hypothesis> {
  const text = decodeAs(body, 'utf-8')
  if (text === undefined) return
  // Indentation without line ends: `curl -d @file` removes them.
  const isJoined = /^[[{](?: {2}|\t)/.test(text)
  for (const [written, description] of rewriteJson(text, maxTexts)) {
    if (isJoined && written.replace(/[\r\n]/g, '') === text)
      yield ['body_line_endings', written, 'the body with line endings, which were removed']
    else yield ['body_reserialized', written, description]
  }
}

/** Yields bytes that the sender may have signed in place of this body, and that are cheap to compute. */
export const cheapBodies = (body: Uint8Array): Generator<Hypothesis> => hypothesesOf(CHEAP, body)

/** Yields further bytes that the sender may have signed. */
export const expensiveBodies = (body: Uint8Array): Generator<Hypothesis> => hypothesesOf(EXPENSIVE, body)

/** Yields the hypotheses about this body that have one of these causes, without computing the others. */
export function* bodiesWith(
  body: Uint8Array,
  causes: readonly Cause[],
  maxTexts: number,
): Generator<Hypothesis> {
  const families = [...CHEAP, ...EXPENSIVE].filter(([cause]) => causes.includes(cause))
  yield* hypothesesOf(families, body)
  if (causes.includes('body_reserialized')) yield* writtenBodies(body, maxTexts)
}

/** Yields the body after decompression and compression. */
export async function compressedBodies(body: Uint8Array): Promise<Iterable<Hypothesis>> {
  return withCause('body_decompressed', await compressionVariants(body))
}

function* hypothesesOf(families: readonly Family[], body: Uint8Array): Generator<Hypothesis> {
  const source = createSource(body)
  for (const [cause, variants] of families) yield* withCause(cause, variants(source))
}

function* withCause(cause: Cause, variants: Iterable<Variant>): Generator<Hypothesis> {
  for (const [value, description] of variants) yield [cause, value, description]
}
