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

/** Truncates text to `length` characters, and escapes it like {@link printable}. */
export const shortened = (text: string, length = 80): string =>
  printable(text.length > length ? `${text.slice(0, length - 1)}…` : text)

/** Serializes to JSON, and also escapes C1 controls and direction marks, which `JSON.stringify` does not. */
export function toPrintableJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, null, indent)
  // JSON.stringify escapes line feeds in strings, so unescaped ones come from the indentation.
  return json.replace(UNPRINTABLE, (character) => (character === '\n' ? character : escapeUnits(character)))
}

const escapeUnits = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
  }).join('')
