import type { Variant } from '../types.ts'
import { OBJECT_NOTATIONS, pythonRepr, write } from './json-notations.ts'
import { membersOf } from './json-tree.ts'
import type { Source } from './source.ts'

/** Texts that languages write in place of an object. */
export const LOST_TEXTS: readonly string[] = [
  '[object Object]',
  '[object Promise]',
  '[object Uint8Array]',
  '[object ArrayBuffer]',
  '[object Blob]',
  '[object ReadableStream]',
  '[object FormData]',
  '{}',
  '[]',
  'undefined',
  'null',
  'nil',
  'None',
  'Array',
  'NaN',
  'true',
]

export const lostTextVariants = (): Variant[] =>
  LOST_TEXTS.map((text) => [text, `the text ${text} in place of the payload`])

/** Yields the payload as languages write it if it is converted to text without a JSON serializer. */
export function* stringifiedVariants(source: Source): Generator<Variant> {
  const { bytes, text, tree, binary, isSmall } = source
  if (tree?.kind === 'array') {
    const objects = membersOf(tree).map(() => '[object Object]')
    yield [objects.join(','), 'the text [object Object] in place of each element']
  }
  // A receiver that wrote its Buffer as JSON before it verified it.
  const data = tree && numbersOf(tree)
  if (data) yield [data, 'the bytes whose numbers are in the received JSON']
  if (!isSmall) return
  if (tree) {
    for (const [notation, description] of OBJECT_NOTATIONS) yield [write(tree, notation), description]
  }
  const bytesRepr = bytesReprOf(binary)
  yield [bytesRepr, "the text b'...', as str of Python writes bytes"]
  if (text !== undefined) yield [pythonRepr(text), 'the body as repr of Python writes it']
  const numbers = bytes.join(',')
  yield [numbers, 'the bytes of the body as decimal numbers, as String writes them']
  yield [`[${numbers}]`, 'the bytes of the body as a JSON array of numbers']
  yield [
    `{"type":"Buffer","data":[${numbers}]}`,
    'the JSON of a Buffer, as JSON.stringify(buffer) of Node.js writes it',
  ]
}

function bytesReprOf(binary: string): string {
  const mark = binary.includes("'") && !binary.includes('"') ? '"' : "'"
  const escaped = binary.replace(/[\\']|[^ -~]/g, (character) => {
    if (character === "'") return mark === "'" ? "\\'" : "'"
    const short = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character]
    return short ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
  return `b${mark}${escaped}${mark}`
}

/** Reads `{"type":"Buffer","data":[…]}`, `[…]` and `{"0":…}`. */
function numbersOf(tree: NonNullable<Source['tree']>): Uint8Array | undefined {
  const data = membersOf(tree).find(([name]) => name === 'data')?.[1] ?? tree
  const numbers = membersOf(data).map(([, value]) => (value.kind === 'literal' ? Number(value.raw) : -1))
  if (numbers.length === 0 || numbers.some((number) => !(number >= 0 && number < 256))) return undefined
  return Uint8Array.from(numbers)
}
