import { concat, utf8 } from '../../shared/bytes.ts'
import { decodeAs, trim } from '../text.ts'
import type { Hypothesis } from '../types.ts'
import type { KeyTable } from './key-table.ts'
import { unquote } from './quotes.ts'

/** Maximum number of keys that a list is searched for or joined to. */
const MAX_PARTS = 10

const split = (text: string, separator: string | RegExp): string[] =>
  text
    .split(separator, MAX_PARTS)
    .map((part) => unquote(part.trim()))
    .filter((part) => part !== '')

function parseList(text: string): string[] | undefined {
  if (!/^[[{]/.test(text)) return undefined
  try {
    const list: unknown = JSON.parse(text)
    return Object.values(list as object)
      .filter((part) => typeof part === 'string')
      .slice(0, MAX_PARTS)
  } catch {
    return split(text.slice(1, -1), ',')
  }
}

/** Several keys in one text. The sender has only one of them. */
export const LISTS: KeyTable = [
  'key_list',
  [
    ['one of the keys in a list in brackets', parseList],
    ['the part of the key before or after a comma', (key) => split(key, ',')],
    ['the part of the key before or after a line ending', (key) => split(key, /[\r\n]+/)],
    ['the part of the key before or after a semicolon', (key) => split(key, ';')],
    ['the part of the key before or after a vertical bar', (key) => split(key, '|')],
    ['the part of the key before or after a colon', (key) => split(key, ':')],
    ['the part of the key before or after white space', (key) => split(key, /[ \t\r\n]+/)],
    ['the key in a JSON array', (key) => `[${JSON.stringify(key)}]`],
    ['the key twice', (key) => key + key],
    ['the key on two lines', (key) => `${key}\n${key}`],
    ['half of the key, which is the same text twice', half],
  ],
]

/** Returns the first half of a text that was pasted twice. */
function half(text: string): string | undefined {
  const length = text.length / 2
  return text.slice(0, length) === text.slice(length) ? text.slice(0, length) : undefined
}

const SEPARATORS = [',', ', ', ';', '\n', ' ', '|', ':', '']

/** Yields the receiver's keys joined to one text, which the sender may have used as one key. */
export function* joinedKeys(keys: readonly Uint8Array[]): Generator<Hypothesis> {
  if (keys.length < 2 || keys.length > MAX_PARTS) return
  const bare = keys.map((key) => trim(key))
  const orders = [bare, [...bare].reverse()]
  const description = 'several keys on this side, joined into one text'
  for (const order of orders) {
    for (const separator of SEPARATORS) {
      const parts = order.flatMap((key, index) => (index > 0 ? [utf8(separator), key] : [key]))
      yield ['key_list', concat(parts), description]
    }
    const texts = order.map((key) => decodeAs(key, 'utf-8'))
    if (texts.includes(undefined)) continue
    yield ['key_list', JSON.stringify(texts), 'several keys on this side, as a JSON array']
    yield ['key_list', `${texts.join('\n')}\n`, description]
  }
}
