import type { JsonTree } from './json-tree.ts'

/** How a language writes the value that it has parsed from JSON. */
export interface Notation {
  comma: string
  /** Between a name and a value. */
  colon: string
  braces: readonly [open: string, close: string]
  brackets: readonly [open: string, close: string]
  name(text: string): string
  string(text: string): string
  /** Writes a number; by default it keeps the notation of the JSON. */
  number?(raw: string): string
  /** Other texts for `true`, `false` and `null`. */
  literals?: Readonly<Record<string, string>>
  isSorted?: boolean
}

/** Writes a JSON value in a notation. */
export function write(tree: JsonTree, notation: Notation): string {
  const { comma, colon, braces, brackets, name, string, number, literals, isSorted } = notation
  const parts: string[] = []
  const add = (value: JsonTree): void => {
    if (value.kind === 'string') parts.push(string(value.text))
    else if (value.kind === 'literal')
      parts.push(
        /^[tfn]/.test(value.raw) ? (literals?.[value.raw] ?? value.raw) : (number?.(value.raw) ?? value.raw),
      )
    else {
      const isObject = value.kind === 'object'
      const [open, close] = isObject ? braces : brackets
      const members =
        isObject && isSorted ? [...value.members].sort(([a], [b]) => (a < b ? -1 : 1)) : value.members
      parts.push(open)
      for (const [index, [key, member]] of members.entries()) {
        if (index > 0) parts.push(comma)
        if (isObject) parts.push(name(key), colon)
        add(member)
      }
      parts.push(close)
    }
  }
  add(tree)
  return parts.join('')
}

const JSON_BRACKETS = { braces: ['{', '}'], brackets: ['[', ']'] } as const

/** Writes all characters beyond ASCII as escapes, as Python does. */
const toAscii = (json: string): string =>
  json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const quote = (text: string): string => JSON.stringify(text)

export const COMPACT: Notation = { ...JSON_BRACKETS, comma: ',', colon: ':', name: quote, string: quote }

/** `json.dumps` in Python. It writes the character 0x7f as it is. */
export const PYTHON_JSON: Notation = {
  ...COMPACT,
  comma: ', ',
  colon: ': ',
  name: (text) => pythonAscii(quote(text)),
  string: (text) => pythonAscii(quote(text)),
}

export const pythonAscii = (json: string): string => toAscii(json).replaceAll('\\u007f', '\x7f')

/** `repr` in Python: single quotes, or double quotes if the text has only single quotes in it. */
export function pythonRepr(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'"
  if (!/[\\'\p{C}\p{Z}]/u.test(text)) return `'${text}'`
  const escaped = text.replace(/[\\']|(?! )[\p{C}\p{Z}]/gu, (character) => {
    if (character === "'") return mark === "'" ? "\\'" : "'"
    const short = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character]
    if (short) return short
    const code = character.codePointAt(0) as number
    const hex = code.toString(16)
    if (code < 0x100) return `\\x${hex.padStart(2, '0')}`
    return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
  })
  return mark + escaped + mark
}

/** `inspect` in Ruby, for texts in UTF-8. */
function rubyInspect(text: string): string {
  const json = quote(text).replace(/#(?=[{$@])/g, '\\#')
  return json.includes('\\u00')
    ? json.replace(/\\u001b/g, '\\e').replace(/\\u00(..)/g, (_, hex: string) => `\\x${hex.toUpperCase()}`)
    : json
}

/** `%v` of a float64 in Go, the type of every JSON number there. */
function goFloat(raw: string): string {
  const value = Number(raw)
  const [digits, exponent = '0'] = value.toExponential().split('e')
  const size = Number(exponent)
  if (size >= -4 && size < 6) return `${value}`
  return `${digits}e${size < 0 ? '-' : '+'}${`${Math.abs(size)}`.padStart(2, '0')}`
}

const same = (text: string): string => text

/** Converting a parsed object to text: one row for each language. */
export const OBJECT_NOTATIONS: readonly [notation: Notation, description: string][] = [
  [
    {
      ...PYTHON_JSON,
      name: pythonRepr,
      string: pythonRepr,
      literals: { true: 'True', false: 'False', null: 'None' },
    },
    'the payload as str of Python writes it',
  ],
  [
    { ...JSON_BRACKETS, comma: ', ', colon: '=', name: same, string: same },
    'the payload as toString of a Java map writes it',
  ],
  [
    {
      comma: ' ',
      colon: ':',
      braces: ['map[', ']'],
      brackets: ['[', ']'],
      name: same,
      string: same,
      number: goFloat,
      literals: { null: '<nil>' },
      isSorted: true,
    },
    'the payload as %v of Go writes it',
  ],
  [
    {
      ...JSON_BRACKETS,
      comma: ', ',
      colon: '=>',
      name: rubyInspect,
      string: rubyInspect,
      literals: { null: 'nil' },
    },
    'the payload as to_s of Ruby writes it',
  ],
  [
    {
      ...JSON_BRACKETS,
      comma: ', ',
      colon: ' => ',
      name: rubyInspect,
      string: rubyInspect,
      literals: { null: 'nil' },
    },
    'the payload as to_s of Ruby 3.4 writes it',
  ],
]
