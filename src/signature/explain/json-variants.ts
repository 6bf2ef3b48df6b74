/** Yields the JSON in the notations that serializers of other languages produce. */
export function* rewriteJson(text: string): Generator<string> {
  for (const tokens of tokenLists(text)) {
    for (const layout of LAYOUTS) {
      const json = write(tokens, layout, 4 * text.length + 0x10000)
      if (json === undefined) continue
      for (const rewritten of [json, ...escaped(json)]) {
        yield rewritten
        yield `${rewritten}\n` // Go's json.Encoder and print functions append a line feed
      }
    }
  }
}

/** Tokenizes the text as received, as written by JSON.stringify, and with sorted member names. */
function tokenLists(text: string): Iterable<string[]> {
  try {
    const value: unknown = JSON.parse(text)
    const texts = [text, JSON.stringify(value), JSON.stringify(sorted(value))]
    return new Map(texts.map(tokenize).map((tokens) => [tokens.join(''), tokens])).values()
  } catch {
    return [] // not JSON, or nested too deep for JSON.stringify
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]))
}

/** Splits valid JSON into tokens. Numbers keep their notation: JSON.parse would change 1.0 to 1. */
function tokenize(json: string): string[] {
  const tokens: string[] = []
  for (let start = 0, end = 0; start < json.length; start = end) {
    end = start + 1
    const first = json.charAt(start)
    if (first === '"') {
      while (json.charAt(end) !== '"') end += json.charAt(end) === '\\' ? 2 : 1
      const literal = json.slice(start, ++end)
      tokens.push(literal.includes('\\') ? JSON.stringify(JSON.parse(literal)) : literal)
    } else if ('{}[]:,'.includes(first)) {
      tokens.push(first)
    } else if (!' \t\n\r'.includes(first)) {
      while (end < json.length && !'{}[]:, \t\n\r'.includes(json.charAt(end))) end++
      tokens.push(json.slice(start, end))
    }
  }
  return tokens
}

interface Layout {
  comma: string
  colon: string
  /** Undefined for JSON on a single line. */
  indent?: string
}

const LAYOUTS: readonly Layout[] = [
  { comma: ',', colon: ':' },
  { comma: ', ', colon: ': ' }, // Python
  ...['  ', '    ', ' ', '\t'].map((indent) => ({ comma: ',', colon: ': ', indent })),
]

/**
 * Writes JSON. Returns undefined if the text exceeds the limit, because indentation can make a small, deeply nested
 * body huge.
 */
function write(tokens: readonly string[], layout: Layout, limit: number): string | undefined {
  const { comma, colon, indent } = layout
  const parts: string[] = []
  let depth = 0
  let length = 0
  const newLine = (): string => (indent === undefined ? '' : `\n${indent.repeat(depth)}`)
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as string
    const isFirst = index > 0 && '{['.includes(tokens[index - 1] as string)
    let part = token
    if (token === ',') part = comma + newLine()
    else if (token === ':') part = colon
    else if (token === '}' || token === ']') {
      depth--
      if (!isFirst) part = newLine() + token
    } else {
      if (isFirst) part = newLine() + token
      if (token === '{' || token === '[') depth++
    }
    parts.push(part)
    length += part.length
    if (length > limit) return undefined
  }
  return parts.join('')
}

const NOT_ASCII = /[\x7f-\uffff]/g

/** Yields the JSON with the character escapes that other serializers write and JSON.stringify does not. */
function* escaped(json: string): Generator<string> {
  const slashes = json.replaceAll('/', '\\/')
  for (const rewritten of [
    escapeAll(json, NOT_ASCII), // Python
    escapeAll(json, NOT_ASCII, 'upper'), // Jackson
    slashes, // PHP
    escapeAll(slashes, NOT_ASCII), // PHP
    escapeAll(json, /[<>&\u2028\u2029]/g), // Go, Rails
    escapeAll(json, /[<>&='\u2028\u2029]/g), // Gson
    escapeAll(json, /[<>&'+`\x7f-\uffff]/g, 'upper').replace(/\\./g, (pair) =>
      pair === '\\"' ? '\\u0022' : pair,
    ), // .NET
  ]) {
    if (rewritten !== json) yield rewritten
  }
}

const escapeAll = (json: string, characters: RegExp, letters?: 'upper'): string =>
  json.replace(characters, (unit) => {
    const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${letters === 'upper' ? hex.toUpperCase() : hex}`
  })
