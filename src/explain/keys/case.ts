import { toHex } from '../../shared/bytes.ts'
import { fromSeparatedHex } from './decode.ts'
import type { KeyRow, KeyTable } from './key-table.ts'

const ofText =
  (change: (text: string) => string | Uint8Array | undefined): KeyRow[1] =>
  (text, { isText }) =>
    isText ? change(text) : undefined

const UUID = /^[{(]?([\da-f]{8})-?([\da-f]{4})-?([\da-f]{4})-?([\da-f]{4})-?([\da-f]{12})[)}]?$/i

/** Writes a UUID in another way. */
const ofUuid = (write: (uuid: string) => string | Uint8Array | undefined): KeyRow[1] =>
  ofText((text) => {
    const groups = UUID.exec(text)?.slice(1)
    return groups ? write(groups.join('-')) : undefined
  })

const bytesOf = (uuid: string): Uint8Array => fromSeparatedHex(uuid) as Uint8Array

/** Returns the bytes in the order of `Guid.ToByteArray` in .NET, where the first three groups are reversed. */
const guid = (bytes: Uint8Array): Uint8Array =>
  Uint8Array.from([3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15], (index) => bytes[index] as number)

const toUuid = (bytes: Uint8Array): string =>
  toHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

const firstLetter = (change: (letter: string) => string): KeyRow[1] =>
  ofText((text) => text.replace(/^./su, change))

/** Upper and lower case, and other ways to write a UUID. */
export const CASE: KeyTable = [
  'key_case',
  [
    ['the key in lower case', ofText((text) => text.toLowerCase())],
    ['the key in upper case', ofText((text) => text.toUpperCase())],
    ['the key with its first letter in lower case', firstLetter((letter) => letter.toLowerCase())],
    ['the key with its first letter in upper case', firstLetter((letter) => letter.toUpperCase())],
    ['the key typed with Caps Lock', ofText((text) => text.replace(/\p{Lu}|\p{Ll}/gu, swapCase))],
    ['the UUID without hyphens', ofUuid((uuid) => uuid.replaceAll('-', ''))],
    ['the UUID without hyphens in lower case', ofUuid((uuid) => uuid.replaceAll('-', '').toLowerCase())],
    ['the UUID without hyphens in upper case', ofUuid((uuid) => uuid.replaceAll('-', '').toUpperCase())],
    ['the UUID with hyphens', ofUuid((uuid) => uuid)],
    ['the UUID with hyphens in lower case', ofUuid((uuid) => uuid.toLowerCase())],
    ['the UUID with hyphens in upper case', ofUuid((uuid) => uuid.toUpperCase())],
    ['the UUID in braces', ofUuid((uuid) => `{${uuid}}`)],
    ['the UUID in braces in lower case', ofUuid((uuid) => `{${uuid.toLowerCase()}}`)],
    ['the UUID in braces in upper case', ofUuid((uuid) => `{${uuid.toUpperCase()}}`)],
    ['the bytes of the UUID', ofUuid(bytesOf)],
    ['the bytes of the UUID in the order of Guid.ToByteArray', ofUuid((uuid) => guid(bytesOf(uuid)))],
    ['the key as a UUID', (_, { bytes }) => (bytes.length === 16 ? toUuid(bytes) : undefined)],
    [
      'the key as a UUID in the order of Guid.ToByteArray',
      (_, { bytes }) => (bytes.length === 16 ? toUuid(guid(bytes)) : undefined),
    ],
  ],
]

function swapCase(letter: string): string {
  const lower = letter.toLowerCase()
  return lower === letter ? letter.toUpperCase() : lower
}
