import { concat, fromBinary, toBinary, utf8 } from '../bytes.ts'
import type { Cause } from './causes.ts'
import type { Variant } from './hypothesis.ts'
import { decodeAs, rewriteJson, utf16, windows1252 } from './text.ts'

const BOM = '\xef\xbb\xbf'

/** What may have been signed in place of this body, the likely and cheap ones first. */
export async function* bodyVariants(body: Uint8Array): AsyncGenerator<[Cause, Variant]> {
  const binary = toBinary(body)
  const text = decodeAs(body, 'utf-8')
  for (const [cause, lists] of [
    ['body_empty', [binaryVariant('', 'an empty body')]],
    ['body_trailing_newline', trailing(binary)],
    ['body_line_endings', lineEnds(binary)],
    ['body_bom', bom(binary)],
    ['body_form_field', formField(binary)],
    ['body_form_decoded', text === undefined ? [] : formDecoded(text)],
    ['body_reserialized', text === undefined ? [] : reserialized(text)],
    ['body_charset', charsets(body, text)],
  ] as [Cause, Iterable<Variant>][]) {
    for (const variant of lists) yield [cause, variant]
  }
  for (const variant of await compressions(body)) yield ['body_decompressed', variant]
}

const binaryVariant = (binary: string, what: string): Variant => [fromBinary(binary), what]

const trailing = (binary: string): Variant[] => [
  binaryVariant(`${binary}\n`, 'the body and a line feed'),
  binaryVariant(`${binary}\r\n`, 'the body and CR LF'),
  binaryVariant(binary.replace(/\r?\n$/, ''), 'the body without its last line end'),
  binaryVariant(binary.trimEnd(), 'the body without white space at its end'),
]

const lineEnds = (binary: string): Variant[] => [
  binaryVariant(binary.replace(/\r\n?/g, '\n'), 'the body with LF'),
  binaryVariant(binary.replace(/\r?\n/g, '\r\n'), 'the body with CR LF'),
  binaryVariant(binary.replace(/\r?\n/g, '\r'), 'the body with CR'),
]

const bom = (binary: string): Variant[] => [
  binaryVariant(BOM + binary, 'the body behind a byte order mark'),
  binaryVariant(binary.replace(BOM, ''), 'the body without its byte order mark'),
]

function formField(binary: string): Variant[] {
  const variants = [binaryVariant(`payload=${binary}`, 'a form whose payload field is this body')]
  const [, whole] = /^[^=]*=(.*)$/s.exec(binary) ?? []
  if (whole === undefined) return variants
  for (const value of [whole, whole.replace(/&[^&]*$/, ''), whole.replace(/&.*$/s, '')]) {
    variants.push(binaryVariant(value, 'the payload field alone, as received'))
    variants.push(binaryVariant(unescapeForm(value), 'the payload field alone, decoded'))
  }
  return variants
}

function* formDecoded(text: string): Generator<Variant> {
  const decoded = binaryVariant(unescapeForm(toBinary(utf8(text))), 'the form, decoded')
  yield decoded
  for (const pairs of [text.split('&'), [text]]) {
    const fields = pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
    yield* encodedForms(fields)
  }
  // What form parsers make of a form, written as JSON.
  try {
    yield* encodedForms(Object.entries(JSON.parse(text) as object))
  } catch {
    // It is not JSON.
  }
}

function* encodedForms(fields: unknown[][]): Generator<Variant> {
  const join = (encode: (text: string) => string): string =>
    fields.map(([name, value]) => `${encode(String(name))}=${encode(String(value))}`).join('&')
  const percent = (text: string): string => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
  const form = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
  const lower = (text: string): string => text.replace(/%../g, (code) => code.toLowerCase())
  for (const encode of [percent, form]) {
    yield [utf8(join(encode)), 'the form, percent-encoded']
    yield [utf8(lower(join(encode))), 'the form, percent-encoded in lower case']
  }
}

const unescapeForm = (binary: string): string =>
  binary
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))

function* reserialized(text: string): Generator<Variant> {
  for (const json of rewriteJson(text)) yield [utf8(json), 'the same JSON, written in another way']
}

function* charsets(body: Uint8Array, text: string | undefined): Generator<Variant> {
  if (text !== undefined) {
    const narrow = windows1252(text)
    if (narrow) yield [narrow, 'the body in Windows-1252 (Latin-1)']
    for (const endian of ['little', 'big'] as const) {
      yield [utf16(text, endian), 'the body in UTF-16']
      yield [utf16(`\ufeff${text}`, endian), 'the body in UTF-16 with a byte order mark']
    }
  }
  for (const charset of ['windows-1252', 'utf-16le', 'utf-16be']) {
    const read = decodeAs(body, charset)
    if (read !== undefined) yield [utf8(read), `the body read as ${charset} and written in UTF-8`]
  }
}

/** More than this is never unpacked. */
const MAX_UNPACKED = 16 * 1024 * 1024

async function compressions(body: Uint8Array): Promise<Variant[]> {
  const variants: Variant[] = []
  for (const format of ['gzip', 'deflate', 'deflate-raw'] as const) {
    const unpacked = await pipe(body, new DecompressionStream(format))
    if (unpacked) variants.push([unpacked, `the unpacked body (${format})`])
    const packed = await pipe(body, new CompressionStream(format))
    if (packed) variants.push([packed, `the packed body (${format})`])
    // The header of gzip names the packer's system (byte 9) and its effort (byte 8), RFC 1952 section 2.3.
    if (packed && format === 'gzip') {
      for (const [effort, system] of [
        [0, 0],
        [0, 255],
        [0, 19],
        [2, 255],
        [2, 3],
      ] as const) {
        const other = packed.slice()
        other.set([effort, system], 8)
        variants.push([other, 'the packed body (gzip)'])
      }
    }
  }
  return variants
}

async function pipe(
  body: Uint8Array,
  through: { readable: ReadableStream; writable: WritableStream },
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    const reader = new Blob([body as Uint8Array<ArrayBuffer>]).stream().pipeThrough(through).getReader()
    for (;;) {
      const { done, value: chunk } = await reader.read()
      if (done) return concat(chunks)
      chunks.push(chunk)
      length += chunk.length
      if (length > MAX_UNPACKED) return undefined
    }
  } catch {
    return undefined
  }
}
