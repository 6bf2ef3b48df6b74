import { toBase64, toHex } from '../../shared/bytes.ts'
import { fromBase64 } from '../codecs.ts'
import { fromSeparatedHex } from './decode.ts'
import type { KeyRow, KeyTable } from './key-table.ts'

/** Prefixes that mark a text as a key. Standard Webhooks and Svix decode the rest after `whsec_` from base64. */
const PREFIXES_OF_KEYS = ['whsec_', 'secret_', 'sk_', 'key_']

/** A prefix that ends in `_`, such as `whsec_` or `sk_live_`, or the name of an encoding, such as `base64:`. */
const PREFIX = /^(?:[a-z][a-z\d]{0,9}_(?:live_|test_)?|(?:base64|b64|hex|utf8|utf-8|text|plain|raw):)/i

function afterPrefix(text: string): string | undefined {
  const prefix = PREFIX.exec(text)?.[0]
  return prefix === undefined ? undefined : text.slice(prefix.length)
}

const after = (text: string, decode: (rest: string) => Uint8Array | undefined): Uint8Array | undefined => {
  const rest = afterPrefix(text)
  return rest === undefined ? undefined : decode(rest)
}

/** Prefixes such as `whsec_` and `base64:`. */
export const PREFIXES: KeyTable = [
  'key_prefix',
  [
    ['the key without its prefix, decoded from base64', (key) => after(key, fromBase64), 'common'],
    ['the key without its prefix', afterPrefix, 'common'],
    ['the key without its prefix, decoded from hex', (key) => after(key, fromSeparatedHex)],
    ['the key with "0x" before it', (key) => `0x${key}`],
    ...PREFIXES_OF_KEYS.map(
      (prefix): KeyRow => [`the key with "${prefix}" before it`, (key) => prefix + key],
    ),
    ['the key encoded in base64, with "whsec_" before it', (_, { bytes }) => `whsec_${toBase64(bytes)}`],
    ['the key with "base64:" before it', (key) => `base64:${key}`],
    ['the key encoded in base64, with "base64:" before it', (_, { bytes }) => `base64:${toBase64(bytes)}`],
    ['the key with "hex:" before it', (key) => `hex:${key}`],
    ['the key encoded in hex, with "hex:" before it', (_, { bytes }) => `hex:${toHex(bytes)}`],
    ['the key encoded in hex, with "0x" before it', (_, { bytes }) => `0x${toHex(bytes)}`],
  ],
]
