import type { Member, Node, Tree } from './parse.ts'

/** White space between the tokens. */
interface Layout {
  comma: string
  colon: string
  /** White space of one level. Undefined for JSON on a single line. */
  indent?: string
  /** White space inside an empty object or array: a space, a line break, or two. Default none. */
  empty?: 'space' | 'line' | 'lines' | 'linesOfArrays'
  /** `padded` writes arrays as `[ 1, 2 ]` and does not indent them. */
  arrays?: 'padded'
  /** True if an object or array with a single member or item is not broken into lines. */
  joinsSingles?: true
}

/** One row for each way in which a writer places white space. */
export const LAYOUTS = {
  compact: { comma: ',', colon: ':' },
  spaced: { comma: ', ', colon: ': ' },
  spacedCommas: { comma: ', ', colon: ':' },
  spacedColons: { comma: ',', colon: ': ' },
  wide: { comma: ', ', colon: ' : ' },
  lines: { comma: ',', colon: ': ', indent: '' },
  indent1: { comma: ',', colon: ': ', indent: ' ' },
  indent2: { comma: ',', colon: ': ', indent: '  ' },
  indent3: { comma: ',', colon: ': ', indent: '   ' },
  indent4: { comma: ',', colon: ': ', indent: '    ' },
  indent8: { comma: ',', colon: ': ', indent: '        ' },
  tab: { comma: ',', colon: ': ', indent: '\t' },
  jackson: { comma: ',', colon: ' : ', indent: '  ', empty: 'space', arrays: 'padded' },
  jacksonLines: { comma: ',', colon: ' : ', indent: '  ', empty: 'space' },
  perl: { comma: ',', colon: ' : ', indent: '   ' },
  swift: { comma: ',', colon: ' : ', indent: '  ', empty: 'lines' },
  ruby: { comma: ',', colon: ': ', indent: '  ', empty: 'linesOfArrays' },
  jsonbPretty: { comma: ',', colon: ': ', indent: '    ', empty: 'line' },
  orgJson1: { comma: ',', colon: ': ', indent: ' ', joinsSingles: true },
  orgJson2: { comma: ',', colon: ': ', indent: '  ', joinsSingles: true },
  orgJson4: { comma: ',', colon: ': ', indent: '    ', joinsSingles: true },
} as const

export type LayoutName = keyof typeof LAYOUTS

/** Returns a text that is equal for two layouts that write this document alike. */
export function layoutKey({ empties, hasSingles }: Tree, name: LayoutName): string {
  const { empty, joinsSingles, ...others }: Layout = LAYOUTS[name]
  return JSON.stringify([others, empties.length > 0 && empty, hasSingles && joinsSingles])
}

/** What the layouts share: the values, already in the notation of a writer. */
export interface Values {
  root: Node
  numbers: readonly string[]
  /** For each empty array or object: true for an array. */
  empties: readonly boolean[]
}

/** The parts of a text. A number is the index of a string, which is inserted later. */
export interface Template {
  parts: readonly (string | number)[]
  length: number
}

/** Characters after which a new part begins. Concatenating one long text would leave much more garbage. */
const MAX_PART = 2048

/**
 * Writes JSON. Returns undefined if the text exceeds the limit, because indentation can make a small, deeply nested
 * body huge.
 */
export function layOut(
  { root, numbers, empties }: Values,
  name: LayoutName,
  limit: number,
): Template | undefined {
  const { comma, colon, indent, empty, arrays, joinsSingles }: Layout = LAYOUTS[name]
  const parts: (string | number)[] = []
  let part = ''
  const newLines = ['\n']
  let length = 0
  const endPart = (): void => {
    parts.push(flat(part))
    length += part.length
    part = ''
  }

  const newLine = (level: number): string => {
    if (indent === undefined) return ''
    for (let i = newLines.length; i <= level; i++) newLines.push(newLines[i - 1] + indent)
    return newLines[level] as string
  }

  const writeEmpty = (isArray: boolean, level: number): void => {
    let space = ''
    if (empty === 'space') space = ' '
    else if (empty) space = newLine(level)
    if (empty === 'lines' || (empty === 'linesOfArrays' && isArray)) space = `\n${space}`
    part += isArray ? `[${space}]` : `{${space}}`
  }

  const writeArray = (items: readonly Node[], level: number): void => {
    const isJoined = joinsSingles && items.length === 1
    const isPadded = arrays === 'padded'
    const inner = isPadded || isJoined ? level : level + 1
    const start = isJoined ? '' : isPadded ? ' ' : newLine(inner)
    const separator = isPadded ? ', ' : comma + start
    part += `[${start}`
    for (let i = 0; i < items.length && length <= limit; i++) {
      if (i > 0) part += separator
      write(items[i] as Node, inner)
    }
    part += `${isJoined ? '' : isPadded ? ' ' : newLine(level)}]`
  }

  const writeObject = (members: readonly Member[], level: number): void => {
    const isJoined = joinsSingles && members.length === 1
    const inner = isJoined ? level : level + 1
    const start = isJoined ? '' : newLine(inner)
    const separator = comma + start
    part += `{${start}`
    for (let i = 0; i < members.length && length <= limit; i++) {
      const { literal, value } = members[i] as Member
      if (i > 0) part += separator
      write(literal, inner)
      part += colon
      write(value, inner)
    }
    part += `${isJoined ? '' : newLine(level)}}`
  }

  const write = (node: Node, level: number): void => {
    if (part.length > MAX_PART) endPart()
    if (typeof node === 'string') part += node
    else if (node.kind === 'array') writeArray(node.items, level)
    else if (node.kind === 'object') writeObject(node.members, level)
    else if (node.kind === 'number') part += numbers[node.index] as string
    else if (node.kind === 'string') {
      endPart()
      parts.push(node.index)
    } else writeEmpty(empties[node.index] as boolean, level)
  }
  write(root, 0)
  endPart()
  return length > limit ? undefined : { parts, length }
}

/** Makes V8 replace its tree of concatenated strings by one string. Elsewhere it has no effect. */
function flat(text: string): string {
  text.charCodeAt(0)
  return text
}

/** Inserts the strings into a template. */
export function fill({ parts }: Template, strings: readonly string[]): string {
  let text = ''
  for (const part of parts) text += typeof part === 'string' ? part : strings[part]
  return text
}
