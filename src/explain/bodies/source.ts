import { fromBinary } from '../../shared/bytes.ts'
import { decodeAs } from '../text.ts'
import type { BytesOrText } from '../types.ts'
import { type JsonTree, parseTree } from './json-tree.ts'

/** The received body in the representations that hypotheses start from. Each one is computed on first use. */
export interface Source {
  readonly bytes: Uint8Array
  /** Undefined if the body is not valid UTF-8. */
  readonly text: string | undefined
  /** One character per byte. */
  readonly binary: string
  /** The text or, if the body is not valid UTF-8, one character per byte: for replacing ASCII characters. */
  readonly characters: string
  /** Converts edited `characters` to a message. */
  toMessage(characters: string): BytesOrText
  /** True if the body is small enough for hypotheses that take long to compute. */
  readonly isSmall: boolean
  /** Undefined if the body is not JSON. */
  readonly tree: JsonTree | undefined
}

/** Largest body, in bytes, for which rare mistakes are tested that take long to compute. */
const MAX_SMALL = 16 * 1024

export function createSource(bytes: Uint8Array): Source {
  const text = once(() => decodeAs(bytes, 'utf-8'))
  const binary = once(() => toBinary(bytes))
  const tree = once(() => parseTree(text() ?? ''))
  return {
    bytes,
    isSmall: bytes.length <= MAX_SMALL,
    get text() {
      return text()
    },
    get binary() {
      return binary()
    },
    get characters() {
      return text() ?? binary()
    },
    toMessage: (characters) => (text() === undefined ? fromBinary(characters) : characters),
    get tree() {
      return tree()
    },
  }
}

function once<T>(compute: () => T): () => T {
  let result: { value: T } | undefined
  return () => {
    result ??= { value: compute() }
    return result.value
  }
}

/** Arguments per call: engines limit them to about 65,000. */
const CHUNK = 0x2000

/** Ten times as fast as the function of the same name in signature/bytes.ts, which stays small. */
export function toBinary(bytes: Uint8Array): string {
  const parts: string[] = []
  for (let start = 0; start < bytes.length; start += CHUNK)
    parts.push(String.fromCharCode.apply(null, bytes.subarray(start, start + CHUNK) as never))
  return parts.join('')
}
