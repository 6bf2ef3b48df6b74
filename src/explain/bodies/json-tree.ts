/** A JSON value that keeps the notation of numbers, duplicate names and the order of numeric names. */
export type JsonTree = Span &
  (
    | { readonly kind: 'object' | 'array'; readonly members: readonly Member[] }
    | { readonly kind: 'string'; readonly text: string }
    /** A number, `true`, `false` or `null`. */
    | { readonly kind: 'literal' }
  )

/** A member of an object or array. Between its start and its end, there are no commas or brackets around it. */
export type Member = readonly [name: string, value: JsonTree, start: number, end: number]

interface Span {
  /** The value as it is written in the body. */
  readonly raw: string
}

/** Values nested deeper are not parsed, because recursion could overflow the stack. */
const MAX_DEPTH = 200

/** Parses JSON. Returns undefined for invalid JSON, for a number, `true`, `false` or `null`, and for deep nesting. */
export function parseTree(json: string): JsonTree | undefined {
  if (!/^\s*["[{]/.test(json)) return undefined
  try {
    JSON.parse(json)
    return createParser(json)(0)
  } catch {
    return undefined
  }
}

/** Returns a parser of valid JSON. */
function createParser(json: string): (depth: number) => JsonTree {
  let at = 0
  const skipSpace = (): void => {
    while (json.charCodeAt(at) <= 0x20) at++
  }
  const readText = (): string => {
    const start = at++
    for (;;) {
      at = json.indexOf('"', at)
      let slash = at
      while (json.charAt(slash - 1) === '\\') slash--
      at++
      if ((at - 1 - slash) % 2 === 0) break
    }
    const literal = json.slice(start, at)
    return literal.includes('\\') ? JSON.parse(literal) : literal.slice(1, -1)
  }
  const readMembers = (end: string, depth: number): Member[] => {
    const members: Member[] = []
    for (at++; ; at++) {
      const start = at
      skipSpace()
      if (json.charAt(at) === end) break // an empty object or array
      let name = `${members.length}`
      if (end === '}') {
        name = readText()
        skipSpace()
        at++ // the colon
      }
      const value = read(depth + 1)
      skipSpace()
      members.push([name, value, start, at])
      if (json.charAt(at) === end) break
    }
    at++
    return members
  }
  function read(depth: number): JsonTree {
    if (depth > MAX_DEPTH) throw new RangeError('nested too deep')
    skipSpace()
    const start = at
    const first = json.charAt(at)
    if (first === '"') return { kind: 'string', text: readText(), raw: json.slice(start, at) }
    if (first === '{') return { kind: 'object', members: readMembers('}', depth), raw: json.slice(start, at) }
    if (first === '[') return { kind: 'array', members: readMembers(']', depth), raw: json.slice(start, at) }
    while (at < json.length && !',]} \t\n\r'.includes(json.charAt(at))) at++
    return { kind: 'literal', raw: json.slice(start, at) }
  }
  return read
}

/** Returns the member at a path such as `Records.0.body`. */
export function memberAt(tree: JsonTree, path: string): JsonTree | undefined {
  let at: JsonTree | undefined = tree
  for (const name of path.split('.')) at = membersOf(at).find(([other]) => other === name)?.[1]
  return at
}

export const membersOf = (tree: JsonTree | undefined): readonly Member[] =>
  tree && 'members' in tree ? tree.members : []
