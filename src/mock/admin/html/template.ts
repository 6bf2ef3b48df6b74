/** Markup that is safe to send. What comes from outside gets into it through {@link html} only. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

type Value = string | number | boolean | undefined | Html | readonly Html[]

/** A template that escapes what is put into it, unless that is markup itself. Attributes must stand in double quotes. */
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

/** Control characters but line breaks and tabs are none in HTML; they are shown as what they are not. */
const escapeText = (text: string): string =>
  text
    .replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
    .replace(/[^\P{Cc}\t\n\r]/gu, '\u{fffd}')
