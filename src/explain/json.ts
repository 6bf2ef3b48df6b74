/** A JSON value that keeps its source text, duplicate names and the order of its members. */
export interface Json {
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'word'
  /** The value as it is written in the body. */
  readonly raw: string
  /** The decoded text of a string. Empty for other kinds. */
  readonly text: string
  /** The members of an object, or the items of an array, whose names are their indexes. Empty for other kinds. */
  readonly members: readonly Member[]
}

/** A member of an object or array. Between its start and its end, there are no commas or brackets around it. */
export interface Member {
  readonly name: string
  readonly value: Json
  readonly start: number
  readonly end: number
}

/** Values nested deeper are not parsed, because recursion could overflow the stack. */
const MAX_DEPTH = 200

const NONE: readonly Member[] = []

/** Parses JSON. Returns undefined for other text, and for deep nesting. */
export function parseJson(json: string): Json | undefined {
  try {
    JSON.parse(json) // the parser below requires valid JSON
    return createParser(json)(0)
  } catch {
    return undefined
  }
}

/** Returns a parser of valid JSON. */
function createParser(json: string): (depth: number) => Json {
  let at = 0
  const skipSpace = (): void => {
    while (json.charCodeAt(at) <= 0x20) at++
  }
  const readText = (): string => {
    const start = at++
    while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
    const literal = json.slice(start, ++at)
    return literal.includes('\\') ? JSON.parse(literal) : literal.slice(1, -1)
  }
  const readMembers = (end: string, depth: number): Member[] => {
    const members: Member[] = []
    for (at++; ; at++) {
      const start = at
      skipSpace()
      if (json[at] === end) break // an empty object or array
      let name = `${members.length}`
      if (end === '}') {
        name = readText()
        skipSpace()
        at++ // the colon
      }
      const value = read(depth + 1)
      skipSpace()
      members.push({ name, value, start, end: at })
      if (json[at] === end) break
    }
    at++
    return members
  }
  function read(depth: number): Json {
    if (depth > MAX_DEPTH) throw new RangeError('nested too deep')
    skipSpace()
    const start = at
    const first = json[at]
    if (first === '"') return { kind: 'string', text: readText(), raw: json.slice(start, at), members: NONE }
    if (first === '{' || first === '[') {
      const members = readMembers(first === '{' ? '}' : ']', depth)
      return { kind: first === '{' ? 'object' : 'array', text: '', raw: json.slice(start, at), members }
    }
    while (at < json.length && !',]} \t\n\r'.includes(json.charAt(at))) at++
    const raw = json.slice(start, at)
    return { kind: /^[tfn]/.test(raw) ? 'word' : 'number', text: '', raw, members: NONE }
  }
  return read
}

export const membersOf = (json: Json | undefined): readonly Member[] => json?.members ?? NONE

/** Returns the member at a path such as `Records.0.body`. */
export function memberAt(json: Json, path: string): Json | undefined {
  let at: Json | undefined = json
  for (const name of path.split('.')) at = membersOf(at).find((member) => member.name === name)?.value
  return at
}

/** White space and brackets. */
export interface Layout {
  comma: string
  /** Between a name and a value. */
  colon: string
  /** White space of one level. Undefined for a single line. */
  indent?: string
  /** White space in an empty object or array: a space, a line break, two, or two only in arrays. Default none. */
  empty?: 'space' | 'line' | 'lines' | 'linesOfArrays'
  /** Writes arrays as `[ 1, 2 ]` and does not indent them. */
  padsArrays?: true
  /** Does not break an object or array with a single member or item into lines. */
  joinsSingles?: true
  braces?: readonly [open: string, close: string]
}

/** Writes the values between the brackets. */
export interface Values {
  name(text: string): string
  string(json: Json): string
  /** @param member name of the closest member that contains the number */
  number?(json: Json, member: string): string
  /** Writes `true`, `false` or `null`. */
  word?(raw: string): string
  members?(json: Json): readonly Member[]
  /** Returns true for an empty value to write as an array. */
  isEmptyArray?(json: Json, member: string): boolean
}

/** Writes a JSON value. Returns undefined if the text would exceed the limit: indentation can make a small body huge. */
export function writeJson(
  json: Json,
  layout: Layout,
  values: Values,
  limit: number = 2 ** 28,
): string | undefined {
  const { comma, colon, indent, empty, padsArrays, joinsSingles, braces = ['{', '}'] } = layout
  const parts: string[] = []
  const newLines = ['\n']
  let length = 0
  const add = (part: string): void => {
    length += part.length
    parts.push(part)
  }
  const newLine = (level: number): string => {
    if (indent === undefined) return ''
    for (let at = newLines.length; at <= level; at++) newLines.push(newLines[at - 1] + indent)
    return newLines[level] as string
  }
  const spaceIn = (isArray: boolean, level: number): string => {
    if (empty === undefined) return ''
    if (empty === 'space') return ' '
    return (empty === 'lines' || (empty === 'linesOfArrays' && isArray) ? '\n' : '') + newLine(level)
  }
  const write = (value: Json, level: number, member: string): void => {
    if (value.kind === 'string') add(values.string(value))
    else if (value.kind === 'number') add(values.number?.(value, member) ?? value.raw)
    else if (value.kind === 'word') add(values.word?.(value.raw) ?? value.raw)
    else if (value.members.length === 0) {
      const isArray = values.isEmptyArray?.(value, member) ?? value.kind === 'array'
      const [open, close] = isArray ? '[]' : braces
      add(open + spaceIn(isArray, level) + close)
    } else writeMembers(value, level, member)
  }
  const writeMembers = (value: Json, level: number, member: string): void => {
    const isArray = value.kind === 'array'
    const members = isArray ? value.members : (values.members?.(value) ?? value.members)
    const isJoined = joinsSingles && members.length === 1
    const isPadded = padsArrays && isArray
    const inner = isJoined || isPadded ? level : level + 1
    const start = isJoined ? '' : isPadded ? ' ' : newLine(inner)
    const separator = isPadded ? ', ' : comma + start
    const [open, close] = isArray ? '[]' : braces
    for (const [index, { name, value: inside }] of members.entries()) {
      if (length > limit) return
      add(index === 0 ? open + start : separator)
      if (!isArray) add(values.name(name) + colon)
      write(inside, inner, isArray ? member : name)
    }
    add((isJoined ? '' : isPadded ? ' ' : newLine(level)) + close)
  }
  write(json, 0, '')
  return length > limit ? undefined : parts.join('')
}

const quote = (text: string): string => JSON.stringify(text)

export const COMPACT: Layout = { comma: ',', colon: ':' }
export const SPACED: Layout = { comma: ', ', colon: ': ' }

/** Writes strings as `JSON.stringify` does. */
export const PLAIN: Values = { name: quote, string: ({ text }) => quote(text) }

const toAscii = (json: string): string =>
  json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Writes strings as `json.dumps` of Python does. */
export const PYTHON: Values = {
  name: (text) => toAscii(quote(text)),
  string: ({ text }) => toAscii(quote(text)),
}
