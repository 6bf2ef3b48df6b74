import { type Html, html } from './template.ts'

/** A page before the elements that all pages share are added. */
export interface Document {
  title: string
  /** Further elements of the head: styles, icon, script. */
  head: Html
  /** Address that the script of the page prepends to its requests. */
  base?: string
  body: Html
}

/** Renders a complete HTML document. */
export function renderDocument({ title, head, base, body }: Document): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
<body${base === undefined ? '' : html` data-base="${base}"`}>
${body}
</body>
</html>
`.markup
}
