import { fromBinary, toBinary, utf8 } from '../bytes.ts'
import type { Cause } from './causes.ts'
import { charsetVariants } from './charset-variants.ts'
import { compressionVariants } from './compression-variants.ts'
import type { Variant } from './explain-types.ts'
import { formFieldVariants, formVariants } from './form-variants.ts'
import { rewriteJson } from './json-variants.ts'
import { decodeAs, trimEnd } from './text.ts'

const BOM = '\xef\xbb\xbf'

/** Yields bytes that the sender may have signed in place of this body. Likely and cheap variants come first. */
export async function* bodyVariants(body: Uint8Array): AsyncGenerator<[Cause, Variant]> {
  const binary = toBinary(body)
  const text = decodeAs(body, 'utf-8')
  const lists: [Cause, Iterable<Variant>][] = [
    ['body_empty', [[new Uint8Array(), 'an empty body']]],
    ['body_trailing_newline', trailingVariants(body, binary)],
    ['body_line_endings', lineEndingVariants(binary)],
    ['body_bom', bomVariants(binary)],
    ['body_form_field', formFieldVariants(binary)],
    ['body_form_decoded', text === undefined ? [] : formVariants(binary, text)],
    ['body_reserialized', text === undefined ? [] : jsonVariants(text)],
    ['body_charset', charsetVariants(body, text)],
  ]
  for (const [cause, variants] of lists) {
    for (const variant of variants) yield [cause, variant]
  }
  for (const variant of await compressionVariants(body)) yield ['body_decompressed', variant]
}

const trailingVariants = (body: Uint8Array, binary: string): Variant[] => [
  [fromBinary(`${binary}\n`), 'the body followed by a line feed'],
  [fromBinary(`${binary}\r\n`), 'the body followed by CR LF'],
  [fromBinary(`${binary}\n\n`), 'the body followed by two line feeds'],
  [fromBinary(`${binary} `), 'the body followed by a space'],
  [fromBinary(binary.replace(/\r?\n$/, '')), 'the body without its last line ending'],
  [trimEnd(body), 'the body without the white space at its end'],
]

const lineEndingVariants = (binary: string): Variant[] =>
  [
    ['\n', 'LF'],
    ['\r\n', 'CR LF'],
    ['\r', 'CR'],
  ].map(([end = '', name]) => [
    fromBinary(binary.replace(/\r\n?|\n/g, end)),
    `the body with ${name} as line endings`,
  ])

const bomVariants = (binary: string): Variant[] =>
  binary.startsWith(BOM)
    ? [[fromBinary(binary.slice(BOM.length)), 'the body without its byte order mark']]
    : [[fromBinary(BOM + binary), 'the body with a byte order mark before it']]

function* jsonVariants(text: string): Generator<Variant> {
  for (const json of rewriteJson(text)) yield [utf8(json), 'the same JSON in another notation']
}
