import type { Variant } from '../types.ts'
import type { Source } from './source.ts'

const FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const

/** Yields the text in the other Unicode normalization forms. */
export function* normalizedVariants({ text }: Source): Generator<Variant> {
  if (text === undefined || /^[\0-\x7f]*$/.test(text)) return
  for (const form of FORMS) {
    const normalized: string = text.normalize(form)
    if (normalized !== text) yield [normalized, `the body in the Unicode normalization form ${form}`]
  }
}
