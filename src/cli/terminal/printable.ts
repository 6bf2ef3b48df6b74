/**
 * Characters that move the cursor, change colours, begin a line, or turn the direction of text: what comes from the
 * network or a file must not be able to draw on a terminal.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu

/** The text with such characters written out, for example `\u{1b}`. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

/** As {@link printable}, and no longer than `length` characters. */
export const shortened = (text: string, length = 80): string =>
  printable(text.length > length ? `${text.slice(0, length - 1)}…` : text)

/** A value as JSON in ASCII controls at most: `JSON.stringify` leaves C1 controls and direction marks as they are. */
export function toPrintableJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, null, indent)
  // The line ends of an indented document are its own.
  return json.replace(UNPRINTABLE, (character) => (character === '\n' ? character : escapeUnits(character)))
}

const escapeUnits = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
  }).join('')
