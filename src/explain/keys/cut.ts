import { concat } from '../../shared/bytes.ts'
import type { KeyRow, KeyTable } from './key-table.ts'

/** Common lengths of database columns, form fields, and keys of ciphers. */
const LENGTHS = [32, 16, 64, 20, 24, 40, 50, 128, 255, 256, 100, 72, 8, 10, 12, 30, 48]

/** Lengths of database columns that databases fill up with spaces. */
const FILLED = [32, 64, 16, 50, 100, 128, 255, 256]

/** Keys that a column or a field cut, or filled up, to its length. */
export const CUT: KeyTable = [
  'key_truncated',
  [
    ...LENGTHS.flatMap((length): KeyRow[] => [
      [
        `the first ${length} bytes of the key`,
        (_, { bytes }) => (bytes.length > length ? bytes.subarray(0, length) : undefined),
      ],
      [
        `the first ${length} characters of the key`,
        (key) => (key.length > length ? [...key].slice(0, length).join('') : undefined),
      ],
    ]),
    ...FILLED.map(
      (length): KeyRow => [
        `the key filled up with spaces to ${length} characters`,
        (key) => key.padEnd(length),
      ],
    ),
    // HMAC-SHA256 itself fills up a key to 64 bytes.
    ...LENGTHS.filter((length) => length > 64).map(
      (length): KeyRow => [
        `the key filled up with zero bytes to ${length} bytes`,
        (_, { bytes }) =>
          bytes.length < length ? concat([bytes, new Uint8Array(length - bytes.length)]) : undefined,
      ],
    ),
  ],
]
