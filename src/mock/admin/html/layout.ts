import { createHash } from 'node:crypto'
import { FILES } from '../../../inspector/assets.ts'
import { renderDocument } from '../../../inspector/html/document.ts'
import { Html, html } from '../../../inspector/html/template.ts'
import type { ServiceVersion } from '../../versions.ts'
import type { ResponseName } from '../operation.ts'
import { type Address, type Family, SERVICES, webhooksPath } from '../paths.ts'

/** What the path of a page names. */
export interface Place {
  address: Address
  /** Id of the webhook that the path names. */
  id?: string | undefined
  /** Relative path from the page to the address of the mock: one `../` per level. */
  root: string
  site: Site
}

/** A response to render as an HTML page. */
export interface View extends Place {
  response: ResponseName
  body: object
}

/** Properties that all pages share. */
export interface Site {
  version: ServiceVersion
  omitted: 'keep' | 'reset'
  hasTokens: boolean
  /** True if the service lists all webhooks of the whole site. */
  hasSiteList: boolean
  /** True if the inspector is mounted at the root, with its style sheet. */
  hasInspector: boolean
}

/** Allows no scripts, and of subresources only the style; forms may be submitted to the same origin only. */
export const contentSecurityPolicy = ({ hasInspector }: Site): string =>
  [
    "default-src 'none'",
    `style-src ${hasInspector ? "'self'" : INLINE_STYLE}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const STYLE = FILES['inspector.css'] ?? ''
const INLINE_STYLE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`

export type Link = readonly [href: string, text: string]

/** A complete page, in the style of the inspector. */
export function page(
  title: string,
  links: readonly Link[],
  { hasInspector }: Site,
  root: string,
  content: Html | readonly Html[],
): string {
  const style = hasInspector
    ? html`<link rel="stylesheet" href="${root}assets/inspector.css">`
    : // Not escaped, because the content security policy contains a digest of these exact bytes.
      new Html(`<style>${STYLE}</style>`)
  return renderDocument({
    title,
    head: style,
    body: html`<header><nav class="views">${links.map(([href, text]) => html`<a href="${href}">${text}</a> `)}</nav></header>
<main>
<h1>${title}</h1>
${content}
</main>`,
  })
}

/** Relative path from a page to the address of the mock, so that links work wherever the mock is mounted. */
export const rootOf = (path: string): string => '../'.repeat(Math.max(0, path.split('/').length - 2))

/** Link to the webhooks of the whole site. */
export const siteHref = (root: string, site: string): string => root + site.slice(1)

/** Link to the webhooks of a service. */
export const webhooksHref = (root: string, service: string, family: Family = SERVICES): string =>
  root + webhooksPath(family, service)

/** Link to one webhook of a service. */
export const webhookHref = (root: string, service: string, id: string, family?: Family): string =>
  `${webhooksHref(root, service, family)}/${encodeURIComponent(id)}`
