/** Safe markup. Use {@link html} to insert untrusted values. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

type Value = string | number | boolean | undefined | Html | readonly Html[]

/** A template tag that escapes all values except {@link Html}. Attributes must be in double quotes. */
export const html = (texts: TemplateStringsArray, ...values: Value[]): Html =>
  new Html(texts.reduce((markup, text, index) => markup + toMarkup(values[index - 1]) + text))

function toMarkup(value: Value): string {
  if (value === undefined) return ''
  if (value instanceof Html) return value.markup
  if (typeof value === 'object') return value.map(toMarkup).join('')
  return escapeText(String(value))
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes markup, and replaces control characters that HTML does not allow. */
const escapeText = (text: string): string =>
  text
    .replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
    .replace(/[^\P{Cc}\t\n\r]/gu, '\u{fffd}')
