import type { KeyRow, KeyTable } from './key-table.ts'

/** Characters that look like nothing or like a space. Web pages, chats, PDF files and dialogs of Windows add them. */
const CHARACTERS = [
  '\u200b', // zero-width space
  '\u00a0', // no-break space
  '\u200e', // left-to-right mark
  '\u00ad', // soft hyphen
  '\u2060', // word joiner
  '\u202f', // narrow no-break space
  '\u200c', // zero-width non-joiner
  '\u200d', // zero-width joiner
]
const INVISIBLE_CHARACTERS = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g
const SPACES = /[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g

const nameOf = (character: string): string =>
  `U+${character.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`

/** Invisible characters around a key or inside it. */
export const INVISIBLE: KeyTable = [
  'key_invisible',
  [
    ['the key without its invisible characters', (key) => key.replace(INVISIBLE_CHARACTERS, '')],
    [
      'the key without its invisible characters and no-break spaces',
      (key) => key.replace(INVISIBLE_CHARACTERS, '').replace(SPACES, ''),
    ],
    [
      'the key with plain spaces in place of no-break spaces, and without invisible characters',
      (key) => key.replace(INVISIBLE_CHARACTERS, '').replace(SPACES, ' ').trim(),
    ],
    ['the key without its no-break spaces', (key) => key.replace(SPACES, '')],
    ['the key with no-break spaces in place of spaces', (key) => key.replaceAll(' ', '\u00a0')],
    ...CHARACTERS.flatMap((character): KeyRow[] => [
      [`the key with ${nameOf(character)} after it`, (key) => key + character],
      [`the key with ${nameOf(character)} before it`, (key) => character + key],
    ]),
    ['the key with U+FEFF after it', (key) => `${key}\ufeff`], // before it: key_whitespace
  ],
]
