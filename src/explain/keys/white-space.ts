import type { KeyRow, KeyTable } from './key-table.ts'

/** White space and byte order marks that files, shells and forms add before or after a key. */
const BEFORE = ['', ' ', '\ufeff']
const AFTER = ['', '\n', '\r\n', '\r', ' ', '\t', '\n\n', ' \n']

const AROUND = BEFORE.flatMap((before) =>
  AFTER.map((after): KeyRow => {
    const isCommon = before === '' && ['', '\n', '\r\n'].includes(after)
    const description = describe(before, after)
    return [description, (key) => before + key + after, isCommon ? 'common' : undefined]
  }),
)

function describe(before: string, after: string): string {
  const shown = (text: string): string => JSON.stringify(text).replace('\ufeff', '\\ufeff')
  if (before && after) return `the key with ${shown(before)} before it and ${shown(after)} after it`
  if (before) return `the key with ${shown(before)} before it`
  return after ? `the key with ${shown(after)} after it` : 'the key without white space around it'
}

/** White space around a key or inside it. */
export const WHITE_SPACE: KeyTable = [
  'key_whitespace',
  [
    ...AROUND,
    ['the key without the white space inside it', (key) => key.replace(/[ \t\r\n]/g, '')],
    ['the key without the line endings inside it', (key) => key.replace(/[\r\n]/g, '')],
    ['the key with spaces as line endings', (key) => key.replace(/\r\n?|\n/g, ' ')],
    ['the key with single spaces inside it', (key) => key.replace(/[ \t\r\n]+/g, ' ')],
    ['the key with LF as line endings', (key) => key.replace(/\r\n?/g, '\n')],
    ['the key with CR LF as line endings', (key) => key.replace(/\r\n?|\n/g, '\r\n')],
    ['the key with LF as line endings and at its end', (key) => `${key.replace(/\r\n?/g, '\n')}\n`],
    ['the key with CR LF as line endings and at its end', (key) => `${key.replace(/\r\n?|\n/g, '\r\n')}\r\n`],
    ['the key in groups of four characters', (key) => key.match(/.{1,4}/gsu)?.join(' ')],
  ],
]
