import type { KeyRow, KeyTable } from './key-table.ts'

const PAIRS: readonly [open: string, close: string, name: string][] = [
  ['"', '"', 'double quotes'],
  ["'", "'", 'single quotes'],
  ['`', '`', 'backticks'],
  ['\u201c', '\u201d', 'typographic double quotes'],
  ['\u2018', '\u2019', 'typographic single quotes'],
  ['\u201e', '\u201c', 'German quotes'],
  ['\u00ab', '\u00bb', 'angle quotes'],
  ['\\"', '\\"', 'escaped double quotes'],
  ['<', '>', 'angle brackets'],
]

/** Removes one pair of quotes around a text. Returns other texts unchanged. */
export function unquote(text: string): string {
  for (const [open, close] of PAIRS) {
    const isInside = text.length >= open.length + close.length
    if (isInside && text.startsWith(open) && text.endsWith(close))
      return text.slice(open.length, text.length - close.length)
  }
  return text
}

function parseJson(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** Replaces quotes that word processors write by those on a keyboard. */
export const toPlainQuotes = (text: string): string =>
  text.replace(/[\u2018\u2019\u201a\u201b]/g, "'").replace(/[\u201c-\u201f]/g, '"')

/** Quotes around a key, or inside it. */
export const QUOTES: KeyTable = [
  'key_quotes',
  [
    ['the key without the quotes around it', unquote, 'common'],
    ['the key in double quotes', (key) => `"${key}"`, 'common'],
    ['the key parsed as a JSON string', parseJson],
    ['the key without two pairs of quotes around it', (key) => unquote(unquote(key))],
    ['the key without the quote at its start', (key) => key.replace(/^["'`]/, '')],
    ['the key without the quote at its end', (key) => key.replace(/["'`]$/, '')],
    ['the key without any quotes', (key) => key.replace(/["'`\u00ab\u00bb\u2018-\u201f]/g, '')],
    ...PAIRS.map(([open, close, name]): KeyRow => [`the key in ${name}`, (key) => open + key + close]),
    ['the key as a JSON string', (key) => JSON.stringify(key)],
    ['the key as a JSON string with escaped slashes', (key) => JSON.stringify(key).replaceAll('/', '\\/')],
    ['the key with plain quotes in place of typographic ones', toPlainQuotes],
    ['the key with typographic apostrophes', (key) => key.replaceAll("'", '\u2019')],
    ['the key with typographic quotes', (key) => key.replace(/"([^"]*)"?/g, '\u201c$1\u201d')],
    ['the key in double quotes, followed by a line feed', (key) => `"${key}"\n`],
    ['the key in double quotes, followed by CR LF', (key) => `"${key}"\r\n`],
    ['the key in single quotes, followed by a line feed', (key) => `'${key}'\n`],
    ['the key in double quotes, followed by a comma', (key) => `"${key}",`],
    ['the key in double quotes, followed by a semicolon', (key) => `"${key}";`],
    ['the key in single quotes, followed by a semicolon', (key) => `'${key}';`],
    ['the key as Python prints bytes', (key) => `b'${key}'`],
    ['the key inside what Python prints for bytes', (key) => /^b(["'])(.*)\1$/s.exec(key)?.[2]],
  ],
]
