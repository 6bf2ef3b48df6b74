import { escapeUnicode } from './transforms.ts'

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

export const parseStructure = (text: string | undefined): Json | undefined =>
  text !== undefined && /^\s*["[{]/.test(text) ? parseJson(text) : undefined

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

export interface Layout {
  comma: string
  /** Between a name and a value. */
  colon: string
  /** White space of one level. Undefined for a single line. */
  indent?: string
  /** As Jackson does: arrays as `[ 1, 2 ]`, and a space in empty objects and arrays. */
  isPadded?: true
}

/** Writes a number, given its source text and the name of the closest member that contains it. */
export type WriteNumber = (raw: string, member: string) => string

export interface Values {
  string(text: string): string
  number?: WriteNumber
  /** Writes `true`, `false` or `null`. */
  word?(raw: string): string
  /** Returns the members of an object in the order to write them. */
  members?(json: Json): readonly Member[]
  /** Returns true for an empty object or array to write as an array. */
  isEmptyArray?(json: Json): boolean
}

/** Writes a JSON value. Returns undefined if the text would exceed the limit: indentation can make a small body huge. */
export function writeJson(
  json: Json,
  layout: Layout,
  values: Values,
  limit: number = 2 ** 28,
): string | undefined {
  const { comma, colon, indent, isPadded } = layout
  const parts: string[] = []
  let length = 0
  const add = (part: string): void => {
    length += part.length
    parts.push(part)
  }
  const newLine = (level: number): string => (indent === undefined ? '' : `\n${indent.repeat(level)}`)
  const write = (value: Json, level: number, member: string): void => {
    if (value.kind === 'string') add(values.string(value.text))
    else if (value.kind === 'number') add(values.number?.(value.raw, member) ?? value.raw)
    else if (value.kind === 'word') add(values.word?.(value.raw) ?? value.raw)
    else if (value.members.length > 0) writeMembers(value, level, member)
    else {
      const isArray = values.isEmptyArray?.(value) ?? value.kind === 'array'
      add((isArray ? '[]' : '{}').split('').join(isPadded ? ' ' : ''))
    }
  }
  const writeMembers = (value: Json, level: number, member: string): void => {
    const isArray = value.kind === 'array'
    const isInLine = isArray && isPadded
    const inner = isInLine ? level : level + 1
    const start = isInLine ? ' ' : newLine(inner)
    const separator = isInLine ? ', ' : comma + start
    const [open, close] = isArray ? '[]' : '{}'
    const members = isArray ? value.members : (values.members?.(value) ?? value.members)
    for (const [index, { name, value: inside }] of members.entries()) {
      if (length > limit) return
      add(index === 0 ? open + start : separator)
      if (!isArray) add(values.string(name) + colon)
      write(inside, inner, isArray ? member : name)
    }
    add((isInLine ? ' ' : newLine(level)) + close)
  }
  write(json, 0, '')
  return length > limit ? undefined : parts.join('')
}

/** JSON as `JSON.stringify` and as `json.dumps` of Python write it. */
export const compactJson = (json: Json): string | undefined =>
  writeJson(json, { comma: ',', colon: ':' }, { string: JSON.stringify })
export const pythonJson = (json: Json): string | undefined =>
  writeJson(json, SPACED, { string: (text) => escapeUnicode(JSON.stringify(text), /[\x7f-\uffff]/g) })

export const SPACED: Layout = { comma: ', ', colon: ': ' }
