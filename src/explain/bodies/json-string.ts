import type { Variant } from '../types.ts'
import { pythonAscii } from './json-notations.ts'
import type { Source } from './source.ts'

/** How often JSON may be inside a JSON string. */
const MAX_NESTED = 3

/** Yields the text inside a JSON string, and the body as a JSON string. */
export function* jsonStringVariants({ text, tree, isSmall }: Source): Generator<Variant> {
  if (text === undefined) return
  let inner = tree?.kind === 'string' ? tree.text : undefined
  for (let nested = 0; inner !== undefined && nested < MAX_NESTED; nested++) {
    yield [inner, 'the text inside the JSON string that was received']
    inner = parseString(inner)
  }
  for (const [quote, description] of isSmall ? QUOTES : QUOTES.slice(0, 1)) yield [quote(text), description]
  yield [JSON.stringify(text).slice(1, -1), 'the body with the backslashes of a JSON string']
  yield [JSON.stringify(JSON.stringify(text)), 'a JSON string in a JSON string that contains the body']
}

function parseString(literal: string): string | undefined {
  if (!literal.trimStart().startsWith('"')) return undefined
  try {
    const value: unknown = JSON.parse(literal)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

const escapeHtml = (json: string): string =>
  json.replace(/[<>&\u2028\u2029]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** JSON strings that contain the body, as serializers write them. */
const QUOTES: readonly [quote: (text: string) => string, description: string][] = [
  [(text) => JSON.stringify(text), 'a JSON string that contains the body'],
  [(text) => pythonAscii(JSON.stringify(text)), 'a JSON string that contains the body, written by Python'],
  [
    (text) => pythonAscii(JSON.stringify(text).replaceAll('/', '\\/')),
    'a JSON string that contains the body, written by PHP',
  ],
  [
    (text) => JSON.stringify(text).replaceAll('/', '\\/'),
    'a JSON string that contains the body, written by PHP with JSON_UNESCAPED_UNICODE',
  ],
  [(text) => escapeHtml(JSON.stringify(text)), 'a JSON string that contains the body, written by Go'],
  [(text) => `${escapeHtml(JSON.stringify(text))}\n`, 'a JSON string that contains the body, written by Go'],
]
