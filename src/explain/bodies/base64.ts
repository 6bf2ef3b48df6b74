import { fromBase64, fromHex, inLines, toHex } from '../codecs.ts'
import type { Variant } from '../types.ts'
import { type Source, toBinary } from './source.ts'

/** Decodes base64 or base64url, with or without line breaks and padding. Returns undefined for other text. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const bare = text.replace(/[\r\n]/g, '').trim()
  return bare.length < 2 || !/^[\w+/-]+={0,2}$/.test(bare) ? undefined : fromBase64(bare)
}

/** Yields the body decoded from base64 or hex, and encoded in them. */
export function* base64Variants({ bytes, binary }: Source): Generator<Variant> {
  const encoded = binary.replace(/^data:[^,]{0,100};base64,/, '').replace(/^"([^"]*)"\s*$/, '$1')
  const decoded = decodeBase64(encoded)
  if (decoded) {
    yield [decoded, 'the body decoded from base64']
    const again =
      decodeBase64(String.fromCharCode(...decoded.subarray(0, 100))) && decodeBase64(toBinary(decoded))
    if (again) yield [again, 'the body decoded from base64 twice']
  }
  const hexDecoded = bytes.length > 0 ? fromHex(binary.trim()) : undefined
  if (hexDecoded) yield [hexDecoded, 'the body decoded from hex']

  const base64 = btoa(binary)
  yield [base64, 'the body encoded in base64']
  for (const [width, end, name] of LINES) {
    const lines = inLines(base64, width, end)
    yield [lines, `the body encoded in base64, in lines of ${width} characters (${name})`]
    yield [lines + end, `the body encoded in base64, in lines of ${width} characters (${name})`]
  }
  const bare = base64.replaceAll('=', '')
  if (bare !== base64) yield [bare, 'the body encoded in base64 without padding']
  const url = bare.replaceAll('+', '-').replaceAll('/', '_')
  if (url !== bare) yield [url, 'the body encoded in base64url']
  yield [`${base64}\n`, 'the body encoded in base64, with a line feed']
  yield [btoa(base64), 'the body encoded in base64 twice']
  yield [JSON.stringify(base64), 'the body encoded in base64, as a JSON string']
  yield [encodeURIComponent(base64), 'the body encoded in base64 and percent-encoded']
  const hex = toHex(bytes)
  yield [hex, 'the body encoded in hex']
  yield [hex.toUpperCase(), 'the body encoded in upper-case hex']
}

/** Line lengths and line ends of base64: MIME, Python and GNU base64, Ruby, PEM and OpenSSL. */
const LINES = [
  [76, '\r\n', 'MIME'],
  [76, '\n', 'Python and GNU'],
  [60, '\n', 'Ruby'],
  [64, '\n', 'OpenSSL'],
] as const
