import { prettyBody, textOf } from '../body-text.ts'
import type { Context } from '../html/context.ts'
import { deliveryPath } from '../html/row.ts'
import { type Html, html } from '../html/template.ts'
import { toSize } from '../html/units.ts'
import type { Item } from '../source.ts'
import { hexDump } from './hex-dump.ts'
import type { Tab } from './tab.ts'

/** Maximum number of bytes that a view shows; the download has all of them. */
const MAX_SHOWN = 256 * 1024

const VIEWS: readonly (readonly [
  name: string,
  title: string,
  render: (body: Uint8Array, item: Item) => string,
])[] = [
  ['pretty', 'Pretty', (body, { request }) => prettyBody(body, request.contentType)],
  ['raw', 'Raw', (body) => textOf(body)],
  ['hex', 'Hex', hexDump],
]

export const body: Tab = {
  name: 'body',
  title: 'Body',
  render(item, context) {
    const { id, request } = item
    const bytes = request.body
    if (!bytes)
      return html`<p>The body is not available: it could not be read, or newer deliveries took its place.</p>`
    const asked = context.request.query.get('view')
    const [current, , render] = VIEWS.find(([name]) => name === asked) ?? VIEWS[0]!
    const shown = bytes.subarray(0, MAX_SHOWN)
    return html`${viewLinks(context, id, current)}
<p>${toSize(bytes.length)}${
      shown.length < bytes.length ? html`; only the first ${toSize(MAX_SHOWN)} are shown` : ''
    }. <a href="${context.href(deliveryPath(id, 'download'))}" download>Download</a></p>
<pre class="bytes" tabindex="0" aria-label="Body">${render(shown, item)}</pre>
`
  },
}

const viewLinks = ({ href }: Context, id: string, current: string): Html =>
  html`<ul class="views" aria-label="Views">${VIEWS.map(
    ([name, title]) =>
      html`<li><a href="${href(deliveryPath(id, 'body'), { view: name })}"${name === current ? html` aria-current="true"` : ''}>${title}</a></li>`,
  )}</ul>`
