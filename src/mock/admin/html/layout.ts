import { createHash } from 'node:crypto'
import { Html, html } from './template.ts'

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top; overflow-wrap: anywhere }
label { display: block; margin: .6rem 0 }
label small { display: block }
input, select, textarea { display: block; width: 100%; max-width: 40rem; box-sizing: border-box; font: inherit }
button { font: inherit; margin: .6rem .6rem .6rem 0 }
`

/** Pages hold no scripts and load nothing; a form may be sent only to where it comes from. */
export const CONTENT_SECURITY_POLICY: string = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A link: where it leads, and what it says. */
export type Link = readonly [href: string, text: string]

/** A whole page. */
export function page(title: string, links: readonly Link[], content: Html | readonly Html[]): string {
  // As it is: a digest in the policy covers these bytes.
  const style = new Html(`<style>${STYLE}</style>`)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
${style}
</head>
<body>
<nav>${links.map(([href, text]) => html`<a href="${href}">${text}</a> `)}</nav>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`.markup
}
