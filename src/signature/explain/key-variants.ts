import { concat, fromBinary, toBase64, toBinary, toHex, utf8 } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import type { Cause } from './causes.ts'
import type { Variant } from './explain-types.ts'
import { decodeAs, trim, utf16 } from './text.ts'

/** Returns bytes that the sender may have used in place of this key, grouped by cause. */
export function keyVariants(key: Uint8Array): [Cause, Variant[]][] {
  const text = decodeAs(key, 'utf-8')
  return [
    ['key_empty', [[new Uint8Array(), 'an empty key']]],
    ['key_whitespace', whitespaceVariants(trim(key))],
    ['key_case', text === undefined ? [] : caseVariants(text)],
    ['key_encoding', [...encoded(key), ...(text === undefined ? convertedToText(key) : encodedText(text))]],
    ['key_encoding', decoded(toBinary(trim(key)))],
  ]
}

/** White space and byte order marks that files, shells and forms add before or after a key. */
const BEFORE = ['', ' ', '\ufeff']
const AFTER = ['', '\n', '\r\n', '\r', ' ', '\t', '\n\n', ' \n']

const whitespaceVariants = (bare: Uint8Array): Variant[] =>
  BEFORE.flatMap((before) =>
    AFTER.map((after): Variant => {
      const around = JSON.stringify(before + after).replace('\ufeff', '\\ufeff')
      const description =
        before + after ? `the key with ${around} around it` : 'the key without white space around it'
      return [concat([utf8(before), bare, utf8(after)]), description]
    }),
  )

function caseVariants(text: string): Variant[] {
  const [first = ''] = text
  const rest = text.slice(first.length)
  return [
    [utf8(text.toLowerCase()), 'the key in lower case'],
    [utf8(text.toUpperCase()), 'the key in upper case'],
    [utf8(first.toLowerCase() + rest), 'the key with its first letter in lower case'],
    [utf8(first.toUpperCase() + rest), 'the key with its first letter in upper case'],
  ]
}

function encoded(key: Uint8Array): Variant[] {
  return [
    [utf8(toHex(key)), 'the key encoded in hex'],
    [utf8(toHex(key).toUpperCase()), 'the key encoded in hex'],
    [utf8(toBase64(key)), 'the key encoded in base64'],
    [utf8(toBase64(key).replaceAll('=', '')), 'the key encoded in base64'],
  ]
}

/** Returns the results of converting a binary key to a string in common ways. */
function convertedToText(key: Uint8Array): Variant[] {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(key)
  return [
    [utf8(text), 'the key decoded as UTF-8, with its invalid bytes replaced'],
    [utf8(toBinary(key)), 'the key decoded as Latin-1 and encoded as UTF-8'],
  ]
}

function encodedText(text: string): Variant[] {
  const percent = encodeURIComponent(text)
  return [
    [utf8(percent), 'the percent-encoded key'],
    [utf8(percent.replaceAll('%20', '+')), 'the percent-encoded key'],
    [fromBinary(text), 'the key in Latin-1'],
    [utf16(text, 'little'), 'the key in UTF-16'],
    [utf16(text, 'big'), 'the key in UTF-16'],
  ]
}

function decoded(binary: string): Variant[] {
  const variants: Variant[] = [
    [fromBinary(percentDecode(binary)), 'the percent-decoded key'],
    [fromBinary(percentDecode(binary.replaceAll('+', ' '))), 'the key decoded as a form field'],
  ]
  if (/^[0-9a-f]+$/i.test(binary) && binary.length % 2 === 0) {
    const pairs = binary.match(/../g) ?? []
    variants.push([Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16)), 'the key decoded from hex'])
  }
  try {
    const base64 = binary.replaceAll('-', '+').replaceAll('_', '/')
    variants.push([fromBinary(atob(base64)), 'the key decoded from base64'])
  } catch {
    // not base64
  }
  return variants
}
