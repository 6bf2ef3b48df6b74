import type { RowPage } from '../source.ts'
import type { Context } from './context.ts'
import { renderDocument } from './document.ts'
import { filterForm } from './filter-form.ts'
import { renderRow } from './row.ts'
import { renderSummary } from './summary.ts'
import { type Html, html } from './template.ts'

/** The right half of the page. */
export interface Pane {
  title: string
  content: Html | readonly Html[]
  /** Id of the delivery that the pane shows. */
  selected?: string | undefined
  /** True for the start page: narrow screens then show the list instead of the pane. */
  isStart?: boolean | undefined
  status?: number | undefined
}

/** A document without deliveries, for the login page and errors before it. */
export const bareDocument = (base: string, title: string, content: Html): string =>
  document(base, title, html`<main class="bare" id="pane" tabindex="-1">${content}</main>`)

/** The whole page: header, list, links to panels, and a pane. */
export async function renderPage(context: Context, page: RowPage, pane: Pane): Promise<string> {
  const { source, href, request } = context
  const rows = page.rows.map((row) => renderRow(row, context, pane.selected))
  const title = pane.isStart ? source.title : `${pane.title} · ${source.title}`
  const body = html`<a class="skip" href="#pane">Skip to the content</a>
<header>
<h1><a href="${href('/')}">${source.title}</a></h1>
<p class="live" id="live" role="status"></p>
<p id="summary">${renderSummary(page.rows)}</p>
${await filterForm(context)}
${tools(context)}
</header>
<div class="panes ${pane.isStart ? 'on-start' : 'on-pane'}">
<div class="side">
<section class="list" aria-label="Deliveries" id="list" tabindex="0">
<ol id="rows">
${rows}</ol>
<p id="empty"${rows.length > 0 ? html` hidden` : ''}>No deliveries${hasFilter(context) ? ' match the filters' : ' yet'}.</p>
${otherRows(context, page)}
</section>
${await panelLinks(context)}
</div>
<main id="pane" tabindex="-1">
${notice(context)}${
  pane.isStart
    ? html`<h2>${pane.title}</h2>`
    : html`<p class="back"><a href="${href('/')}">Deliveries</a></p>
<h2>${pane.title}</h2>`
}
${pane.content}
</main>
</div>`
  return document(request.base, title, body)
}

/** Links to newer and older deliveries. */
const otherRows = ({ href, request }: Context, { next, note }: RowPage): Html =>
  html`<p id="more">${note === undefined ? '' : html`${note} `}${request.query.has('after') ? html`<a href="${href('/')}">Newest deliveries</a> ` : ''}${
    next === undefined ? '' : html`<a href="${href('/', { after: next })}">Older deliveries</a>`
  }</p>`

const hasFilter = ({ filters }: Context): boolean =>
  Object.values(filters).some((value) => value !== undefined)

const notice = ({ notice }: Context): Html =>
  notice
    ? html`<p class="notice ${notice.ok ? 'good' : 'bad'}" role="status" tabindex="-1" autofocus>${notice.message}</p>
`
    : html``

function tools(context: Context): Html {
  const { source, href, formSecret, hasLogin } = context
  const post = (path: string, label: string): Html => html`<form method="post" action="${href(path)}">
<input type="hidden" name="form-secret" value="${formSecret}"><button>${label}</button></form>
`
  return html`<div class="tools">
<button type="button" class="scripted-only" id="pause" aria-pressed="false">Pause</button>
${source.clear ? post('/clear', 'Clear') : ''}<button type="button" class="scripted-only" id="theme" aria-label="Theme: system" title="Theme: system">◐</button>
${hasLogin ? post('/logout', 'Log out') : ''}</div>`
}

async function panelLinks({ source, href, request }: Context): Promise<Html> {
  if (source.panels.length === 0) return html``
  const links = await Promise.all(
    source.panels.map(async (panel) => {
      const isCurrent = request.path.split('/')[1] === panel.name
      return html`<li><a href="${href(`/${panel.name}`)}"${isCurrent ? html` aria-current="page"` : ''}>${panel.title} <span>${await panel.summary()}</span></a></li>
`
    }),
  )
  return html`<nav aria-label="Panels" id="panels"><ul>
${links}</ul></nav>`
}

const document = (base: string, title: string, body: Html): string =>
  renderDocument({
    title,
    base,
    head: html`<link rel="stylesheet" href="${base}/assets/inspector.css">
<link rel="icon" href="${base}/assets/icon.svg" type="image/svg+xml">
<script type="module" src="${base}/assets/inspector.js"></script>`,
    body,
  })
