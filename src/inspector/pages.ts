import { diffArrays } from 'diff'
import type { Session } from './access.ts'
import {
  actionButton,
  bareDocument,
  type Context,
  deliveryPath,
  isoText,
  type Pane,
  panelTools,
  renderOutcome,
} from './html/page.ts'
import { renderPlots } from './html/plots.ts'
import { type Html, html, timeOfDay } from './html/template.ts'
import {
  InspectorError,
  type InspectorRequest,
  type InspectorResponse,
  redirect,
  respondHtml,
} from './http.ts'
import { prettyBody, textOf } from './request.ts'
import type { Item, Panel, Row, RowPage } from './source.ts'
import { TABS, type Tab } from './tabs.ts'

/** The pane of the start page: what happened recently. */
export const startPane = (_context: Context, { rows }: RowPage): Pane => ({
  title: 'Overview',
  isStart: true,
  content:
    rows.length === 0 ? html`<p>Deliveries appear here as soon as they arrive.</p>` : renderPlots(rows),
})

/** The login page. Returns to the requested page after the login. */
export function loginPage({ base, path }: InspectorRequest, message?: string): InspectorResponse {
  const markup = bareDocument(
    base,
    'Log in',
    html`<h1>geohook</h1>
${message ? html`<p class="notice bad" role="alert">${message}</p>` : ''}<form method="post" action="${base}/login">
<input type="hidden" name="to" value="${path}">
<div class="field"><label for="token">Token</label><input id="token" name="token" type="password" autocomplete="current-password" required></div>
<button>Log in</button></form>`,
  )
  return respondHtml(401, markup, { 'www-authenticate': 'Bearer' })
}

/** @throws {InspectorError} 415, 413 */
export async function logIn(request: InspectorRequest, session: Session): Promise<InspectorResponse> {
  const { token = '', to = '/' } = await request.readForm()
  // A path that begins with two slashes would be the address of another host. Headers contain ASCII only.
  const path = /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : '/'
  if (!session.isToken(token)) return loginPage({ ...request, path }, 'Wrong token.')
  return redirect(request.base + path, { 'set-cookie': session.cookie(request, true) })
}

export function errorPage(base: string, error: unknown): InspectorResponse {
  const isKnown = error instanceof InspectorError
  const status = isKnown ? error.status : 500
  const message = isKnown ? error.message : 'The inspector failed. This is a bug in geohook.'
  return respondHtml(
    status,
    bareDocument(
      base,
      `Error ${status}`,
      html`<h1>Error ${status}</h1>
<p>${message}</p>
<p><a href="${base}/">Deliveries</a></p>`,
    ),
    status === 503 ? { 'retry-after': '5' } : {},
  )
}

/** The pane of one delivery: its tabs and actions. */
export async function deliveryPane(context: Context, item: Item, tab: Tab, page: RowPage): Promise<Pane> {
  return {
    title: titleOf(item),
    selected: item.id,
    content: [
      html`<p class="lead">${renderOutcome(item.outcome, item.attempts)} <span class="id">${item.id}</span></p>
<div class="bar">${tabLinks(context, item, tab)}${actionButtons(context, item)}</div>
`,
      await tab.render(item, context),
      compareForm(context, item, page.rows),
    ],
  }
}

const titleOf = ({ changeTypes, service, target = '', outcome }: Item): string =>
  changeTypes.length > 0
    ? [changeTypes.join(', '), service].filter(Boolean).join(' of ')
    : `Request to ${target}: ${outcome.word}`

const tabLinks = ({ href }: Context, { id }: Item, current: Tab): Html =>
  html`<nav class="tabs" aria-label="Views of the delivery"><ul>${TABS.map(
    (tab) =>
      html`<li><a href="${href(deliveryPath(id, tab.name))}"${tab === current ? html` aria-current="page"` : ''}>${tab.title}</a></li>`,
  )}</ul></nav>`

const actionButtons = (context: Context, item: Item): Html =>
  html`<div class="actions">${context.source.actions
    .filter(({ isAvailable }) => isAvailable?.(item) ?? true)
    .map((action) => actionButton(context, deliveryPath(item.id, action.name), action))}</div>`

/** The pane of a panel: its content, and the actions on the panel itself. */
export async function panelPane(context: Context, panel: Panel): Promise<Pane> {
  const tools = panelTools(context, panel)
  const buttons = panel.actions
    .filter(({ isOnEntry, isAvailable }) => !isOnEntry && isAvailable?.('') !== false)
    .map(({ name }) => tools.button(name))
  return {
    title: panel.title,
    content: [
      buttons.length > 0 ? html`<div class="bar"><div class="actions">${buttons}</div></div>` : html``,
      html`<div id="panel">${await panel.render(tools)}</div>`,
    ],
  }
}

/** Maximum size of a compared text in characters, and of the work to compare two. */
const MAX_COMPARED = 512 * 1024
const MAX_EDITS = 2000
const MAX_CHOICES = 100

/** A form that compares a delivery with another one of the list. */
function compareForm({ href }: Context, { id }: Row, rows: readonly Row[]): Html {
  // A delivery can have several rows.
  const known = new Map(rows.map((row) => [row.id, row]))
  const others = [...known.values()].filter((row) => row.id !== id).slice(0, MAX_CHOICES)
  if (others.length === 0) return html``
  const [path = '', query = ''] = href('/diff').split('?')
  const hidden = [...new URLSearchParams(query), ['a', id] as const]
  return html`<form class="compare" action="${path}">
${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<label for="b">Compare with</label>
<select id="b" name="b">${others.map(
    (row) => html`<option value="${row.id}">${optionOf(row)}</option>`,
  )}</select>
<button>Compare</button></form>
`
}

const optionOf = ({ time, changeTypes, target, outcome, id }: Row): string =>
  [timeOfDay(time), changeTypes.join(', ') || target, outcome.status, outcome.word, id.slice(0, 8)].join(' ')

/** The pane that compares the requests of two deliveries. */
export function diffPane({ href }: Context, a: Item, b: Item): Pane {
  // Indenting large bodies can block the process for seconds.
  const size = [a, b].reduce((sum, { request }) => sum + (request.body?.length ?? 0), 0)
  const parts: [string, Html][] = [
    ['Request', renderDiff(requestText(a), requestText(b))],
    ['Headers', renderDiff(headerText(a), headerText(b))],
    ['Body', size > MAX_COMPARED ? TOO_LARGE : renderDiff(bodyText(a), bodyText(b))],
  ]
  return {
    title: 'Comparison',
    content: html`<p><del>${nameOf(a)}</del> <a href="${href(deliveryPath(a.id))}">open</a><br><ins>${nameOf(b)}</ins> <a href="${href(deliveryPath(b.id))}">open</a></p>
${parts.map(
  ([title, differences]) => html`<section aria-label="${title}"><h3>${title}</h3>
${differences}</section>
`,
)}${sameBytes(a, b)}`,
  }
}

const TOO_LARGE = html`<p>Too large to compare.</p>`

const nameOf = ({ id, time, changeTypes }: Item): string => `${isoText(time)} ${changeTypes.join(', ')} ${id}`

const requestText = ({ request: { method, url } }: Item): string => `${method} ${url}`
const headerText = ({ request: { headers } }: Item): string =>
  headers
    .map(([name, value]) => `${name}: ${value}`)
    .sort()
    .join('\n')

const bodyText = ({ request: { body, contentType } }: Item): string =>
  body ? prettyBody(body, contentType) : ''

/** Reports the first difference in bytes, because different bytes can look the same. */
function sameBytes({ request: { body: before } }: Item, { request: { body: after } }: Item): Html {
  if (!before || !after) return html``
  if (Buffer.compare(before, after) === 0) return html`<p>The bodies have the same bytes.</p>`
  const found = before.findIndex((byte, index) => byte !== after[index])
  const at = found === -1 ? before.length : found
  const [one, other] = [before, after].map((body) =>
    JSON.stringify(textOf(body.subarray(Math.max(0, at - 10), at + 10))),
  )
  return html`<p>The bodies differ first at offset ${at}: ${one} and ${other}.</p>`
}

function renderDiff(before: string, after: string): Html {
  if (before.length + after.length > MAX_COMPARED) return TOO_LARGE
  const changes = diffArrays(before.split('\n'), after.split('\n'), { maxEditLength: MAX_EDITS })
  if (!changes) return html`<p>Too different to compare.</p>`
  return html`<pre class="bytes diff" tabindex="0" aria-label="Differences">${changes.map(
    ({ value, added, removed }) => {
      const mark = added ? '+ ' : removed ? '- ' : '  '
      const text = value.map((line) => `${mark}${line}\n`).join('')
      return added ? html`<ins>${text}</ins>` : removed ? html`<del>${text}</del>` : html`${text}`
    },
  )}</pre>`
}
