import type { KeyTable } from './key-table.ts'
import { toPlainQuotes } from './quotes.ts'

const toPlainHyphens = (text: string): string =>
  text.replace(/[\u2010-\u2013\u2212]/g, '-').replaceAll('\u2014', '--')

/** Hyphens that word processors, chats and web pages replace while a key is typed or copied. */
export const TYPOGRAPHY: KeyTable = [
  'key_copied',
  [
    ['the key with plain hyphens in place of typographic ones', toPlainHyphens],
    [
      'the key with plain quotes and hyphens in place of typographic ones',
      (key) => toPlainHyphens(toPlainQuotes(key)),
    ],
    ['the key with en dashes in place of hyphens', (key) => key.replace(/--?/g, '\u2013')],
    ['the key with em dashes in place of double hyphens', (key) => key.replaceAll('--', '\u2014')],
    ['the key with no-break hyphens', (key) => key.replaceAll('-', '\u2011')],
  ],
]
