import { concat, fromBinary, utf8 } from '../../shared/bytes.ts'
import { trimEnd } from '../text.ts'
import type { Variant } from '../types.ts'
import type { Source } from './source.ts'

/** Texts that editors, shells and templates add after a body. */
const AFTER: readonly [text: string, name: string][] = [
  ['\n', 'a line feed'],
  ['\r\n', 'CR LF'],
  ['\n\n', 'two line feeds'],
  [' ', 'a space'],
  ['\r', 'CR'],
  ['\t', 'a tab'],
  ['\r\n\r\n', 'two CR LF'],
]

/** Texts that templates and string literals add before a body. */
const BEFORE: readonly [text: string, name: string][] = [
  ['\n', 'a line feed'],
  ['\r\n', 'CR LF'],
  [' ', 'a space'],
  ['\t', 'a tab'],
  ['  ', 'two spaces'],
  ['    ', 'four spaces'],
]

const LF = 0x0a
const CR = 0x0d

const LINE_ENDINGS: readonly [text: string, name: string][] = [
  ['\n', 'LF'],
  ['\r\n', 'CR LF'],
  ['\r', 'CR'],
  ['\r\r\n', 'CR CR LF'],
]

/** Sizes to which buffers of a fixed size are filled up with NUL bytes. */
const BUFFERS = [8, 16, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536]

export function* trailingVariants({ bytes }: Source): Generator<Variant> {
  for (const [text, name] of AFTER) yield [concat([bytes, utf8(text)]), `the body followed by ${name}`]
  const end = bytes.length
  if (bytes[end - 1] === 0x0a) {
    const size = bytes[end - 2] === 0x0d ? 2 : 1
    yield [bytes.subarray(0, end - size), 'the body without its last line ending']
  }
  const trimmed = trimEnd(bytes)
  if (trimmed.length === end) return
  yield [trimmed, 'the body without the white space at its end']
  for (const [text, name] of AFTER.slice(0, 2))
    yield [concat([trimmed, utf8(text)]), `the body with only ${name} at its end`]
}

export function* leadingVariants({ bytes }: Source): Generator<Variant> {
  for (const [text, name] of BEFORE) yield [concat([utf8(text), bytes]), `the body after ${name}`]
  yield [concat([utf8('\n'), bytes, utf8('\n')]), 'the body between two line feeds']
  let start = 0
  while (' \t\n\r'.includes(String.fromCharCode(bytes[start] ?? 0))) start++
  if (start === 0) return
  const trimmed = bytes.subarray(start)
  yield [trimmed, 'the body without the white space at its start']
  yield [trimEnd(trimmed), 'the body without the white space around it']
}

export function* lineEndingVariants({ bytes, characters }: Source): Generator<Variant> {
  if (!bytes.includes(LF) && !bytes.includes(CR)) return
  for (const [text, name] of LINE_ENDINGS)
    yield [withLineEndings(bytes, utf8(text)), `the body with ${name} as line endings`]
  if (/[^\r\n][\r\n]+[^\r\n]/.test(characters))
    yield [withLineEndings(bytes, new Uint8Array()), 'the body without its line endings']
}

/** Uses a loop, because a regular expression takes many times as long for a body of line feeds. */
function withLineEndings(bytes: Uint8Array, ending: Uint8Array): Uint8Array {
  const changed = new Uint8Array(bytes.length * Math.max(1, ending.length))
  let size = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === LF || byte === CR) {
      if (byte === CR && bytes[at + 1] === LF) at++
      for (const end of ending) changed[size++] = end
    } else changed[size++] = byte
  }
  return changed.subarray(0, size)
}

export function* nulVariants(source: Source): Generator<Variant> {
  const { bytes } = source
  const { length } = bytes
  const pad = (size: number): Uint8Array => concat([bytes, new Uint8Array(size - length)])
  for (const count of [1, 2, 4]) yield [pad(length + count), 'the body followed by NUL bytes']
  const sizes = new Set(BUFFERS.map((size) => Math.ceil(length / size) * size))
  for (const size of [...sizes].filter((size) => size > length))
    yield [pad(size), `the body followed by NUL bytes, up to a size of ${size} bytes`]
  const first = bytes.indexOf(0)
  if (first < 0) return
  yield [bytes.subarray(0, first), 'the body up to its first NUL byte']
  let end = length
  while (bytes[end - 1] === 0) end--
  if (end < length) yield [bytes.subarray(0, end), 'the body without the NUL bytes at its end']
  yield [fromBinary(source.binary.replaceAll('\0', '')), 'the body without its NUL bytes']
}

const BOMS: readonly [bytes: number[], name: string][] = [
  [[0xef, 0xbb, 0xbf], 'a byte order mark'],
  [[0xff, 0xfe], 'the byte order mark of UTF-16LE'],
  [[0xfe, 0xff], 'the byte order mark of UTF-16BE'],
]

export function* bomVariants({ bytes }: Source): Generator<Variant> {
  for (const [numbers, name] of BOMS) {
    const bom = Uint8Array.from(numbers)
    let rest = bytes
    while (startsWith(rest, bom)) {
      rest = rest.subarray(bom.length)
      yield [rest, `the body without ${name} before it`]
    }
    if (startsWith(bytes.subarray(-bom.length), bom))
      yield [bytes.subarray(0, -bom.length), `the body without ${name} after it`]
    if (bom.length === 3) {
      yield [concat([bom, bytes]), `the body with ${name} before it`]
      yield [concat([bom, bom, bytes]), 'the body with two byte order marks before it']
      yield [concat([bytes, bom]), `the body with ${name} after it`]
    } else if (rest === bytes) yield [concat([bom, bytes]), `the body with ${name} before it`]
  }
}

const startsWith = (bytes: Uint8Array, start: Uint8Array): boolean =>
  start.every((byte, index) => bytes[index] === byte)
