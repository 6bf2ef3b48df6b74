/**
 * Characters that move the cursor, change colours, start a new line or change the text direction. They are escaped so
 * that text from a file or the network cannot control the terminal.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu

/** Escapes unprintable characters, for example as `\u{1b}`. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

/** Splits text into lines, and escapes unprintable characters except tabs. */
export const printableLines = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => line.split('\t').map(printable).join('\t'))

/**
 * Serializes to JSON, and hides secrets in its strings and member names. Also escapes C1 controls and direction marks,
 * which `JSON.stringify` does not.
 */
export function toPrintableJson(value: unknown, hide: (text: string) => string, indent?: number): string {
  const json = JSON.stringify(value, createHideInJson(hide), indent)
  // JSON.stringify escapes line feeds in strings, so unescaped ones come from the indentation.
  return json.replace(UNPRINTABLE, (character) => (character === '\n' ? character : escapeUnits(character)))
}

/** Returns a replacer for `JSON.stringify`. Searches each member name once, because documents repeat them. */
function createHideInJson(hide: (text: string) => string): (name: string, value: unknown) => unknown {
  const names = new Map<string, string>()
  function hideName(name: string): string {
    const hidden = names.get(name) ?? hide(name)
    if (names.size < MAX_NAMES) names.set(name, hidden)
    return hidden
  }
  return (_, value) => {
    if (typeof value === 'string') return hide(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    if (Object.keys(value).every((name) => hideName(name) === name)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [hideName(name), member]))
  }
}

const MAX_NAMES = 10_000

const escapeUnits = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
  }).join('')
