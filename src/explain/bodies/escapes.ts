import type { Variant } from '../types.ts'
import { decodePercent } from './form-fields.ts'
import type { Source } from './source.ts'

/** Yields the body with characters escaped or unescaped for HTML, for a database or for a URL. */
export function* escapeVariants(source: Source): Generator<Variant> {
  const { characters, toMessage, text, binary, isSmall } = source
  for (const [description, change] of isSmall ? ESCAPES : ESCAPES.slice(0, 4)) {
    const changed = change(characters)
    if (changed !== characters) yield [toMessage(changed), description]
  }
  if (binary.includes('%')) yield [decodePercent(binary), 'the percent-decoded body']
  if (text === undefined || !isSmall) return
  const percent = encodeURIComponent(text)
  yield [percent, 'the percent-encoded body']
  yield [percent.replaceAll('%20', '+'), 'the percent-encoded body, with + for spaces']
  const strict = percent.replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  yield [strict, 'the percent-encoded body']
  yield [strict.replaceAll('%20', '+'), 'the percent-encoded body, with + for spaces']
  yield [percentPath(strict), 'the percent-encoded body, with slashes kept']
  yield [encodeURI(text), 'the percent-encoded body']
}

/** Yields the body with quotes around it, or without them. */
export function* quoteVariants({ characters, toMessage, isSmall }: Source): Generator<Variant> {
  if (!isSmall) return
  const inner = /^\s*b?(["'])(.*)\1\s*$/s.exec(characters)?.[2]
  if (inner !== undefined) yield [toMessage(inner), 'the body without the quotes around it']
  yield [toMessage(`'${characters}'`), 'the body in single quotes']
  yield [toMessage(`"${characters}"`), 'the body in double quotes']
}

/** `quote` in Python keeps slashes. */
const percentPath = (percent: string): string => percent.replaceAll('%2F', '/')

const ENTITIES: Readonly<Record<string, string>> = {
  '&quot;': '"',
  '&#34;': '"',
  '&#x22;': '"',
  '&#039;': "'",
  '&#39;': "'",
  '&#x27;': "'",
  '&apos;': "'",
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&nbsp;': '\u00a0',
  '&#x2F;': '/',
  '&#47;': '/',
}

const markup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const quotes = (text: string, double: string, single: string): string =>
  markup(text).replaceAll('"', double).replaceAll("'", single)

/** Each row: how the text that the sender signed follows from the text that was received. */
const ESCAPES: readonly [description: string, change: (text: string) => string][] = [
  [
    'the body with its HTML entities decoded',
    (text) => text.replace(/&#?\w{2,6};/g, (entity) => ENTITIES[entity] ?? entity),
  ],
  ['the body with &amp; decoded', (text) => text.replaceAll('&amp;', '&')],
  ['the body with the characters & < > as HTML entities', markup],
  [
    'the body with HTML entities, as htmlspecialchars of PHP writes them',
    (text) => quotes(text, '&quot;', '&#039;'),
  ],
  [
    'the body with HTML entities, as htmlspecialchars of PHP before 8.1 writes them',
    (text) => quotes(text, '&quot;', "'"),
  ],
  [
    'the body with HTML entities, as html.escape of Python writes them',
    (text) => quotes(text, '&quot;', '&#x27;'),
  ],
  [
    'the body with HTML entities, as CGI.escapeHTML of Ruby writes them',
    (text) => quotes(text, '&quot;', '&#39;'),
  ],
  [
    'the body with HTML entities, as html.EscapeString of Go writes them',
    (text) => quotes(text, '&#34;', '&#39;'),
  ],
  [
    'the body with a backslash before each quote and backslash, as addslashes of PHP writes it',
    (text) => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll("'", "\\'"),
  ],
  ['the body without a level of backslashes', (text) => text.replace(/\\(.?)/gs, '$1')],
  ['the body without its double quotes, which a shell has removed', (text) => text.replaceAll('"', '')],
  ['the body with each backslash doubled', (text) => text.replaceAll('\\', '\\\\')],
  ['the body with each pair of backslashes as one', (text) => text.replaceAll('\\\\', '\\')],
]
