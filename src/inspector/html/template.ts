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

/**
 * Escapes markup, and replaces characters that HTML or XML 1.0 does not allow. In an attribute, XML parsers read a line
 * break as a space.
 */
const escapeText = (text: string): string =>
  text
    .replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
    .replace(/[^\P{Cc}\t\n\r]|\p{Cs}|[\ufffe\uffff]/gu, '\u{fffd}')

/** The icon of the page: a hook. */
export const ICON: string =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M5 2v7a3.5 3.5 0 0 0 7 0V8M10 10l2-2 2 2" fill="none" stroke="#0b6bcb" stroke-width="2"/></svg>'

/** A number with its noun, for example `1 delivery` or `1,204 deliveries`. */
export const toCount = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`

/** A size in bytes as text, for example `1,204 bytes` or `3.1 MiB`. */
export function toSize(bytes: number): string {
  if (bytes < 10 * 1024) return toCount(bytes, 'byte')
  const isLarge = bytes >= 1024 * 1024
  return `${(bytes / (isLarge ? 1024 * 1024 : 1024)).toFixed(1)} ${isLarge ? 'MiB' : 'KiB'}`
}

/** A list of names and values; entries without a value are left out. */
export const renderFacts = (
  facts: readonly (readonly [name: string, value: string | Html | undefined])[],
): Html =>
  html`<dl class="facts">
${facts
  .filter(([, value]) => value !== undefined && value !== '')
  .map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>
`,
  )}</dl>
`

type Cell = string | number | Html | undefined

/** A table. The first cell of a row is its heading; a column without a name has buttons. */
export const renderTable = (columns: readonly string[], rows: readonly (readonly Cell[])[]): Html =>
  html`<table>
<thead><tr>${columns.map((name) => (name === '' ? html`<td></td>` : html`<th scope="col">${name}</th>`))}</tr></thead>
<tbody>
${rows.map(
  ([heading, ...cells]) =>
    html`<tr><th scope="row">${heading}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`,
)}</tbody></table>
`

/** In the time zone of the server, everywhere on the page. */
export const timeOfDay = (time: Date): string =>
  [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
