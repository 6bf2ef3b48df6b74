import { createHash } from 'node:crypto'
import type { ServiceVersion } from '../../versions.ts'
import type { ResponseName } from '../operation.ts'
import type { Address } from '../paths.ts'
import { Html, html } from './template.ts'

/** A response to render as an HTML page. */
export interface View {
  address: Address
  /** Id of the webhook that the path names. */
  id?: string | undefined
  response: ResponseName
  body: object
  /** Relative path from the page to the parent of `services`: one `../` per level. */
  root: string
  site: Site
}

/** Properties that all pages share. */
export interface Site {
  version: ServiceVersion
  omitted: 'keep' | 'reset'
  hasTokens: boolean
  /** True if the service lists all webhooks of the whole site. */
  hasSiteList: boolean
}

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top; overflow-wrap: anywhere }
label { display: block; margin: .6rem 0 }
label small { display: block }
input, select, textarea { display: block; width: 100%; max-width: 40rem; box-sizing: border-box; font: inherit }
button { font: inherit; margin: .6rem .6rem .6rem 0 }
`

/** Allows no scripts and no subresources; forms may be submitted to the same origin only. */
export const CONTENT_SECURITY_POLICY: string = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

export type Link = readonly [href: string, text: string]

/** A complete page. */
export function page(title: string, links: readonly Link[], content: Html | readonly Html[]): string {
  // Not escaped, because the content security policy contains a digest of these exact bytes.
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

/** Relative path from a page to the folder of `services`, so that links work wherever the mock is mounted. */
export const rootOf = (path: string): string => '../'.repeat(Math.max(0, path.split('/').length - 2))

/** Link to the webhooks of a service. */
export const webhooksHref = (root: string, service: string): string =>
  `${root}services/${service.split('/').map(encodeURIComponent).join('/')}/webhooks`

/** Link to one webhook of a service. */
export const webhookHref = (root: string, service: string, id: string): string =>
  `${webhooksHref(root, service)}/${encodeURIComponent(id)}`
