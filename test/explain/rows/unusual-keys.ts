import { KEY, type Row } from '../table.ts'

/** Decodes hex without validating the characters, as some parsers do. */
const looseHex = (text: string): Buffer => Buffer.from((text.match(/../g) ?? []).map((x) => parseInt(x, 16)))
const HEX_KEY = '7b0cafe9d1e24f3a9b5c6d7e8f901a2b'

const keyRows = (cause: Row['cause'], rows: Record<string, [Buffer | string, Buffer | string, RegExp?]>) =>
  Object.entries(rows).map<Row>(([name, [key, got, evidence]]) => ({
    cause,
    name,
    sent: { key },
    got: { key: got },
    ...(evidence ? { evidence } : {}),
  }))

export const UNUSUAL_KEY_ROWS: readonly Row[] = [
  ...keyRows('key_whitespace', {
    'a trailing CR': [`${KEY}\r`, KEY, /the key with "\\r" after it/],
    'a trailing space and line feed': [`${KEY} \n`, KEY],
    'a leading byte order mark': [`\ufeff${KEY}`, KEY, /the key with "\\ufeff" before it/],
    'white space at the receiver': [KEY, `${KEY}\n`, /the key without white space around it/],
  }),
  ...keyRows('key_empty', { 'the only key, at the receiver': [KEY, '', /^The key on this side is empty/] }),
  ...keyRows('key_encoding', {
    'hex with a suffix': [looseHex(`${HEX_KEY}gg`), `${HEX_KEY}gg`, /hex up to its first other/],
    'hex of odd length': [looseHex(`${HEX_KEY}a`), `${HEX_KEY}a`, /hex up to its first other/],
  }),
  ...keyRows('unexplained', {
    'hex with a prefix': [looseHex(`gg${HEX_KEY}`), `gg${HEX_KEY}`],
    ...Object.fromEntries(
      ['\ufec1', '\uff3f'].map((mark) => {
        const key = Buffer.from(mark + KEY)
        return [
          `${key.toString('hex', 0, 3)}, which is not a byte order mark`,
          [key.subarray(3), key] as const,
        ]
      }),
    ),
    'bytes that end like a byte order mark': [KEY, Buffer.from(`A\xbb\xbf${KEY}`, 'latin1')],
  }),
]
