/** A part of a condition. */
export type Token =
  | { type: 'word'; text: string }
  | { type: 'string'; value: string }
  | { type: 'number'; value: number }
  | { type: 'symbol'; text: string }

/** Bounds of a condition. */
const MAX_LENGTH = 4000
const MAX_TOKENS = 1000

const SYMBOLS = ['<>', '<=', '>=', '!=', '=', '<', '>', '(', ')', ','] as const

/** An error in a condition. */
export class WhereError extends Error {}

/** @throws {WhereError} */
export function tokenize(text: string): Token[] {
  if (text.length > MAX_LENGTH) throw new WhereError(`it is longer than ${MAX_LENGTH} characters`)
  const tokens: Token[] = []
  let position = 0
  while (position < text.length) {
    const character = text[position] as string
    if (/\s/.test(character)) {
      position += 1
      continue
    }
    const { token, length } = readToken(text, position, character)
    tokens.push(token)
    if (tokens.length > MAX_TOKENS) throw new WhereError(`it has more than ${MAX_TOKENS} parts`)
    position += length
  }
  return tokens
}

/** @throws {WhereError} */
function readToken(text: string, position: number, character: string): { token: Token; length: number } {
  if (character === "'") return readString(text, position)
  if (character === '"') {
    const end = text.indexOf('"', position + 1)
    if (end < 0) throw new WhereError('a " is missing at the end of a name')
    return { token: { type: 'word', text: text.slice(position + 1, end) }, length: end + 1 - position }
  }
  const symbol = SYMBOLS.find((candidate) => text.startsWith(candidate, position))
  if (symbol) return { token: { type: 'symbol', text: symbol }, length: symbol.length }
  const number = /^-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?/.exec(text.slice(position, position + 40))?.[0]
  if (number) return { token: { type: 'number', value: Number(number) }, length: number.length }
  let end = position
  while (end < text.length && /[\p{L}\p{N}_.$#]/u.test(text[end] as string)) end += 1
  if (end === position) throw new WhereError(`${JSON.stringify(character)} is not supported`)
  return { token: { type: 'word', text: text.slice(position, end) }, length: end - position }
}

/** Reads a quoted text, in which a doubled quote is an escaped quote. @throws {WhereError} */
function readString(text: string, start: number): { token: Token; length: number } {
  let value = ''
  let position = start + 1
  for (;;) {
    const end = text.indexOf("'", position)
    if (end < 0) throw new WhereError("a ' is missing at the end of a text")
    value += text.slice(position, end)
    if (text[end + 1] !== "'") return { token: { type: 'string', value }, length: end + 1 - start }
    value += "'"
    position = end + 2
  }
}
