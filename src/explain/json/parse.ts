/** JSON as written: with the order of its members, its duplicate names, and the literals of its numbers. */
export interface Tree {
  root: Node
  numbers: readonly NumberLiteral[]
  /** JSON literals of the strings and names that some writers escape, as `JSON.stringify` writes them. */
  strings: readonly string[]
  empties: readonly EmptyLiteral[]
  /** True if an object or array has exactly one member or item. */
  hasSingles: boolean
  /** True if a parser may drop or reorder members: duplicate names, or names that are array indexes. */
  hasUnstableNames: boolean
  /** Number of values. */
  size: number
}

export type Node =
  | string // `true`, `false`, `null`, or a string that all writers write in the same way
  | { kind: 'number' | 'string' | 'empty'; index: number }
  | { kind: 'array'; items: readonly Node[] }
  | { kind: 'object'; members: readonly Member[] }

export interface Member {
  name: string
  literal: Node
  value: Node
}

export interface NumberLiteral {
  literal: string
  /** Name of the closest member that contains the number. */
  member: string
}

export interface EmptyLiteral {
  isArray: boolean
  /** Name of the closest member that contains the empty array or object. */
  member: string
}

/** Maximum depth. No payload of a service is nested deeper, and each level needs space on the stack. */
const MAX_DEPTH = 200

/** Characters that some writer escapes. */
const SPECIAL = /[^ !#-%(-*,-.0-;?-[\]-_a-~]/

/** Returns true if a JavaScript object keeps these members, and their order. */
function isStable(members: readonly Member[]): boolean {
  const names = new Set(members.map(({ name }) => name))
  if (names.size < members.length) return false
  if (!members.some(({ name }) => /^\d/.test(name))) return true
  const own = Object.keys(Object.fromEntries(members.map(({ name }) => [name, 0])))
  return members.every(({ name }, index) => name === own[index])
}

/** Parses JSON. Returns undefined if the text is not JSON or nested deeper than 200 levels. */
export function parseJson(text: string): Tree | undefined {
  try {
    JSON.parse(text) // The parser below requires valid JSON.
  } catch {
    return undefined
  }
  const numbers: NumberLiteral[] = []
  const strings: string[] = []
  const empties: EmptyLiteral[] = []
  const nodes = new Map<string, Node>()
  let at = 0
  let isTooDeep = false
  let hasSingles = false
  let hasUnstableNames = false
  let size = 0

  const skipSpace = (): void => {
    while (text.charCodeAt(at) <= 0x20) at++
  }

  /** Returns true after the last item of an array or object. */
  const isEnd = (): boolean => {
    skipSpace()
    return text[at++] !== ','
  }

  const parseString = (): Node => {
    const start = at++
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    const raw = text.slice(start, ++at)
    let node = nodes.get(raw)
    if (node === undefined) {
      const literal = raw.includes('\\') ? JSON.stringify(JSON.parse(raw)) : raw
      const isPlain = !SPECIAL.test(literal.slice(1, -1))
      node = isPlain ? literal : { kind: 'string', index: strings.push(literal) - 1 }
      nodes.set(raw, node)
    }
    return node
  }

  const parseValue = (member: string, depth: number): Node => {
    size++
    skipSpace()
    const first = text[at]
    if (first === '"') return parseString()
    if (first === '{' || first === '[') {
      const isArray = first === '['
      at++
      skipSpace()
      if (text[at] === ']' || text[at] === '}') {
        at++
        return { kind: 'empty', index: empties.push({ isArray, member }) - 1 }
      }
      if (depth === MAX_DEPTH) {
        isTooDeep = true
        return ''
      }
      return isArray ? parseArray(member, depth + 1) : parseObject(depth + 1)
    }
    const start = at
    while (at < text.length && !',]} \t\n\r'.includes(text.charAt(at))) at++
    const literal = text.slice(start, at)
    if (/^[tfn]/.test(literal)) return literal
    return { kind: 'number', index: numbers.push({ literal, member }) - 1 }
  }

  const parseArray = (member: string, depth: number): Node => {
    const items: Node[] = []
    do items.push(parseValue(member, depth))
    while (!isTooDeep && !isEnd())
    hasSingles ||= items.length === 1
    return { kind: 'array', items }
  }

  const parseObject = (depth: number): Node => {
    const members: Member[] = []
    do {
      skipSpace()
      const literal = parseString()
      const written =
        typeof literal === 'string' ? literal : (strings[(literal as { index: number }).index] ?? '')
      const name = written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1)
      skipSpace()
      at++ // the colon
      members.push({ name, literal, value: parseValue(name, depth) })
    } while (!isTooDeep && !isEnd())
    hasSingles ||= members.length === 1
    hasUnstableNames ||= !isStable(members)
    return { kind: 'object', members }
  }

  const root = parseValue('', 0)
  return isTooDeep ? undefined : { root, numbers, strings, empties, hasSingles, hasUnstableNames, size }
}
