import type { Variant } from '../types.ts'
import type { Source } from './source.ts'

/** More marks on one character than text has (UAX #15, section 13): putting them in order takes quadratic time. */
const MANY_MARKS = /[\p{M}\uff9e\uff9f]{33}/u

const FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const

/** Yields the text in the other Unicode normalization forms. */
export function* normalizedVariants({ text }: Source): Generator<Variant> {
  if (text === undefined || /^[\0-\x7f]*$/.test(text) || MANY_MARKS.test(text)) return
  for (const form of FORMS) {
    const normalized: string = text.normalize(form)
    if (normalized !== text) yield [normalized, `the body in the Unicode normalization form ${form}`]
  }
}
