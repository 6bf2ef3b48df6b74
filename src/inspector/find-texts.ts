/** Start and end of a part of a text. */
export type Span = readonly [start: number, end: number]

/** Texts to find have at least this many characters. */
export const MIN_FOUND = 4

/** Senders can encode twice, for example a URL within the query of another one. */
const MAX_DECODED = 2

/** A text, and where in the original text each of its characters begins. */
interface Decoded {
  text: string
  /** Undefined for the original text. Also has the end of the text. */
  offsets?: readonly number[]
}

/**
 * Returns a function that finds texts in another one, also percent-encoded or with backslashes as in JSON, in order of
 * their starts. Its time is linear in the text, and does not depend on the number of texts to find.
 */
export function createFinder(wanted: Iterable<string>): (text: string) => Span[] {
  const byHead = new Map<number, string[]>()
  for (const text of wanted) {
    if (text.length < MIN_FOUND) continue
    const head = headAt(text, 0)
    byHead.set(head, [...(byHead.get(head) ?? []), text])
  }

  function* findIn({ text, offsets }: Decoded): Generator<Span> {
    for (let start = 0; start + MIN_FOUND <= text.length; start++) {
      for (const part of byHead.get(headAt(text, start)) ?? []) {
        const end = start + part.length
        if (text.startsWith(part, start)) yield [offsets?.[start] ?? start, offsets?.[end] ?? end]
      }
    }
  }

  return (text) => {
    let decoded: Decoded = { text }
    const found = [...findIn(decoded)]
    for (let round = 0; round < MAX_DECODED && /[%\\]/.test(decoded.text); round++) {
      decoded = decode(decoded)
      found.push(...findIn(decoded))
    }
    return found.sort(([a], [b]) => a - b)
  }
}

/** The first four characters as a number. Different ones may share it. */
const headAt = (text: string, at: number): number =>
  text.charCodeAt(at) ^
  (text.charCodeAt(at + 1) << 8) ^
  (text.charCodeAt(at + 2) << 16) ^
  (text.charCodeAt(at + 3) << 24)

const ESCAPED = /%([\da-f]{2})|\\u([\da-f]{4})|\\(.)/gi

/** Decodes percent-encoded bytes to Latin-1, as platforms decode headers, and escaped characters of JSON. */
function decode({ text, offsets }: Decoded): Decoded {
  const starts: number[] = []
  let result = ''
  let end = 0
  function copyUntil(next: number): void {
    result += text.slice(end, next)
    for (let at = end; at < next; at++) starts.push(offsets?.[at] ?? at)
  }
  for (const match of text.matchAll(ESCAPED)) {
    const [escaped, byte, unit, character = ''] = match
    const code = byte ?? unit
    copyUntil(match.index)
    starts.push(offsets?.[match.index] ?? match.index)
    result += code === undefined ? character : String.fromCharCode(Number.parseInt(code, 16))
    end = match.index + escaped.length
  }
  copyUntil(text.length)
  starts.push(offsets?.[text.length] ?? text.length)
  return { text: result, offsets: starts }
}
