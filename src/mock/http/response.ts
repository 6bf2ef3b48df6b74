import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { renderDocument } from '../../inspector/html/page.ts'
import { html } from '../../inspector/html/template.ts'

/** JSON, indented JSON, or an HTML page that shows the JSON. */
export type Format = 'json' | 'pjson' | 'html'

/** Protects the keys in responses. */
const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  vary: 'accept',
  'x-content-type-options': 'nosniff',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

/** Options of {@link sendBody}. */
interface BodyOptions {
  /** Default 200. */
  status?: number | undefined
  /** Address of the inspector's panel, as a link on a page. Default: no link. */
  panel?: string | undefined
}

/** Sends JSON, or a page that shows it. */
export function sendBody(
  res: ServerResponse,
  format: Format,
  body: object,
  { status = 200, panel }: BodyOptions = {},
): void {
  const text = format === 'html' ? toPage(body, panel) : JSON.stringify(body, null, format === 'json' ? 0 : 2)
  res.writeHead(status, {
    ...HEADERS,
    'content-type': `${format === 'html' ? 'text/html' : 'application/json'}; charset=utf-8`,
    'content-length': Buffer.byteLength(text),
  })
  res.end(text)
}

/** Sends bytes, for example a file. */
export function sendBytes(res: ServerResponse, bytes: Uint8Array, headers: OutgoingHttpHeaders): void {
  res.writeHead(200, {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-length': bytes.length,
    ...headers,
  })
  res.end(bytes)
}

/** Pages never show the keys of webhooks. */
const SECRETS: readonly string[] = ['signatureKey', 'secret']

function toPage(body: object, panel: string | undefined): string {
  const json = JSON.stringify(body, (name, value) => (value && SECRETS.includes(name) ? '***' : value), 2)
  const link = panel === undefined ? html`` : html`<p><a href="${panel}">Inspector</a></p>\n`
  return renderDocument({
    title: 'geohook mock service',
    head: html``,
    body: html`${link}<pre>${json}</pre>`,
  })
}

/** Relative path from a page to the address of the mock, so that links work wherever the mock is mounted. */
export const rootOf = (path: string): string => '../'.repeat(Math.max(0, path.split('/').length - 2)) || './'
