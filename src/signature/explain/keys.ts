import { fromBinary, toBase64, toHex, utf8 } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import type { Cause } from './causes.ts'
import type { Variant } from './hypothesis.ts'
import { utf16 } from './text.ts'

/** What may have been used as the key in place of this one. */
export function keyVariants(key: Uint8Array): [Cause, Variant[]][] {
  const text = new TextDecoder().decode(key)
  return [
    ['key_empty', [[new Uint8Array(), 'an empty key']]],
    ['key_whitespace', whitespace(text)],
    [
      'key_case',
      [
        [utf8(text.toLowerCase()), 'the key in lower case'],
        [utf8(text.toUpperCase()), 'the key in upper case'],
      ],
    ],
    ['key_encoding', [...written(key, text), ...decoded(text.trim())]],
  ]
}

function whitespace(text: string): Variant[] {
  const trimmed = text.trim()
  return [
    [utf8(trimmed), 'the key without the white space around it'],
    [utf8(`${trimmed}\n`), 'the key and a line feed'],
    [utf8(`${trimmed}\r\n`), 'the key and CR LF'],
    [utf8(`${trimmed} `), 'the key and a space'],
    [utf8(`${trimmed}\t`), 'the key and a tab'],
    [utf8(` ${trimmed}`), 'a space and the key'],
  ]
}

function written(key: Uint8Array, text: string): Variant[] {
  return [
    [utf8(toHex(key)), 'the key written in hex'],
    [utf8(toHex(key).toUpperCase()), 'the key written in hex'],
    [utf8(toBase64(key)), 'the key written in base64'],
    [utf8(toBase64(key).replace(/=+$/, '')), 'the key written in base64'],
    [utf8(encodeURIComponent(text)), 'the percent-encoded key'],
    [fromBinary(text), 'the key in Latin-1'],
    [utf16(text, 'little'), 'the key in UTF-16'],
  ]
}

function decoded(text: string): Variant[] {
  const variants: Variant[] = [[fromBinary(percentDecode(text)), 'the percent-decoded key']]
  if (/^([0-9a-f]{2})+$/i.test(text)) {
    const pairs = text.match(/../g) ?? []
    variants.push([Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16)), 'the key decoded from hex'])
  }
  try {
    const base64 = text.replaceAll('-', '+').replaceAll('_', '/')
    variants.push([fromBinary(atob(base64)), 'the key decoded from base64'])
  } catch {
    // It is not base64.
  }
  return variants
}
