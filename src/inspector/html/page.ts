import type { InspectorRequest } from '../http.ts'
import { CHOICES } from '../list.ts'
import type {
  Action,
  Done,
  Field,
  FilterName,
  Filters,
  Item,
  Panel,
  PanelTools,
  Row,
  RowOutcome,
  RowPage,
  Source,
  Values,
} from '../source.ts'
import { type Html, html, renderFacts, timeOfDay } from './template.ts'

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
<p id="empty"${rows.length > 0 ? html` hidden` : ''}>No deliveries${Object.keys(context.filters).length > 0 ? ' match the filters' : ' yet'}.</p>
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

const notice = ({ notice }: Context): Html =>
  notice
    ? html`<p class="notice ${notice.ok === false ? 'bad' : 'good'}" role="status" tabindex="-1" autofocus>${notice.message}</p>
`
    : html``

const tools = (context: Context): Html => html`<div class="tools">
<button type="button" class="scripted-only" id="pause" aria-pressed="false">Pause</button>
${context.source.clear ? form(context, '/clear', html`<button>Clear</button>`) : ''}
${context.hasLogin ? form(context, '/logout', html`<button>Log out</button>`) : ''}</div>`

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
  renderDocument(
    title,
    body,
    html`<link rel="stylesheet" href="${base}/assets/inspector.css">
<link rel="icon" href="${base}/assets/icon.svg" type="image/svg+xml">
<script type="module" src="${base}/assets/inspector.js"></script>`,
    base,
  )

/**
 * Renders a complete HTML document.
 *
 * @param head further elements of the head: styles, icon, script
 * @param base address that the script of the page prepends to its requests
 */
export const renderDocument = (title: string, body: Html, head?: Html, base?: string): string =>
  html`<!doctype html>
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

/** What pages need to know about the request and the inspector. */
export interface Context {
  source: Source
  request: InspectorRequest
  filters: Filters
  /** Hidden value of every form. */
  formSecret: string
  /** True if the page should have a button to log out. */
  hasLogin: boolean
  /** Result of the last action, shown once. */
  notice: Done | undefined
  /** Address of a page of the inspector, with the filters of this request. */
  href(path: string, parameters?: Readonly<Record<string, string>>): string
}

/** A form that is submitted to a page of the inspector. */
export const form = (context: Context, path: string, content: Html | readonly Html[]): Html =>
  html`<form method="post" action="${context.href(path)}">
<input type="hidden" name="form-secret" value="${context.formSecret}">
${content}
</form>
`

/** A button that runs an action at once, or a link to the action's form. */
export function actionButton<Subject>(
  context: Context,
  path: string,
  { label, fields, question }: Action<Subject>,
  parameters: Readonly<Record<string, string>> = {},
): Html {
  if (fields || question) return html`<a class="button" href="${context.href(path, parameters)}">${label}</a>`
  return form(context, path, [...hiddenFields(parameters), html`<button>${label}</button>`])
}

export const hiddenFields = (values: Readonly<Record<string, string>>): Html[] =>
  Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)

/** A time of day, with the whole time as its title. */
export const renderTime = (time: Date): Html => {
  if (Number.isNaN(time.getTime())) return html`<span>unknown time</span>`
  return html`<time datetime="${time.toISOString()}" title="${time.toISOString()}">${timeOfDay(time)}</time>`
}

/** A time in ISO 8601; empty if it is invalid, as a clock of the user's own can make it. */
export const isoText = (time: Date): string => (Number.isNaN(time.getTime()) ? '' : time.toISOString())

/** Tools for one panel. */
export const panelTools = (context: Context, { name, actions }: Panel): PanelTools => ({
  button(asked, entry) {
    const action = actions.find((candidate) => candidate.name === asked)
    if (!action || action.isAvailable?.(entry ?? '') === false) return html``
    return actionButton(context, `/${name}/${asked}`, action, entry === undefined ? undefined : { entry })
  },
  href: context.href,
  time: renderTime,
})

/** One delivery in the list. The script replaces it when the delivery changes. */
export function renderRow(row: Row, { href }: Pick<Context, 'href'>, selected?: string): Html {
  const { id, key = id, time, changeTypes, service, webhook, target, outcome, attempts, note } = row
  const name = changeTypes.join(', ') || (target ?? 'unknown content')
  const place = [service, webhook].filter(Boolean).join(' · ') || (changeTypes.length > 0 && target) || note
  return html`<li data-id="${key}"><a href="${href(deliveryPath(id))}"${
    id === selected ? html` aria-current="page"` : ''
  }>${renderTime(time)} <span class="types">${name}</span> <span class="place">${place}</span> ${renderOutcome(outcome, attempts)}</a></li>
`
}

/** The outcome by colour and by word, with the status and the number of attempts. */
export const renderOutcome = ({ tone, word, status }: RowOutcome, attempts = 1): Html =>
  html`<span class="outcome ${tone}">${[status, word].filter((part) => part !== undefined).join(' ')}${
    attempts > 1 ? html` <span class="attempts" title="${attempts} attempts">×${attempts}</span>` : ''
  }</span>`

/** Path of a delivery, below the base. */
export const deliveryPath = (id: string, page = ''): string =>
  `/deliveries/${encodeURIComponent(id)}${page && `/${page}`}`

/** Counts the rows by outcome, for example `12 handled 2 refused`. */
export function renderSummary(rows: readonly Row[]): Html {
  const counts = new Map<string, { tone: RowOutcome['tone']; count: number }>()
  for (const { outcome } of rows) {
    const known = counts.get(outcome.word)
    if (known) known.count++
    else counts.set(outcome.word, { tone: outcome.tone, count: 1 })
  }
  return html`${[...counts].map(
    ([word, { tone, count }]) => html`<span class="outcome ${tone}">${count} ${word}</span> `,
  )}`
}

/** Why a delivery was refused or failed: what `explain` proves, its evidence and its fix. */
export async function renderWhy(item: Item): Promise<Html> {
  const { code, error, explain } = item
  const diagnosis = await explain?.call(item)
  if (!diagnosis && code === undefined && error === undefined) return html``
  const causes = diagnosis ? [diagnosis.cause, ...(diagnosis.also ?? [])].join(', ') : undefined
  return html`<section class="why" aria-label="Why">
<h3>${item.outcome.word}${code === undefined ? '' : html`: <code>${code}</code>`}</h3>
${renderFacts([
  ['Cause', causes],
  ['Evidence', diagnosis?.evidence],
  ['Fix', diagnosis?.fix],
  ['Error', error === undefined ? undefined : html`<pre>${error}</pre>`],
])}</section>
`
}

/** The filters. Their values are in the URL, so that an address can be shared. The script submits them on change. */
async function filterForm({ source, filters, href }: Context): Promise<Html> {
  const choices = await source.filters()
  const selects = Object.entries({ ...CHOICES, error: 'Error' }).map(([name, label]) => {
    const values = choices[name as FilterName] ?? []
    const current = filters[name as FilterName]
    if (values.length === 0 && current === undefined) return html``
    const all = current === undefined || values.includes(current) ? values : [current, ...values]
    return html`<select name="${name}" aria-label="${label}"><option value="">${label.toLowerCase()}</option>${all.map(
      (value) => renderOption(value, value, current),
    )}</select>
`
  })
  return html`<form class="filters" id="filters" role="search" action="${href('/').split('?')[0]}">
<input type="search" name="text" value="${filters.text}" placeholder="filter" title="Searches ids, change types, services, webhooks, addresses, outcomes and errors" aria-label="Text" autocomplete="off" spellcheck="false">
${selects}<button>Filter</button>
</form>`
}

const renderOption = (value: string, title: string, selected?: string): Html =>
  html`<option value="${value}"${value === selected ? html` selected` : ''}>${title}</option>`

/** A field of a form with its label. Submitted values replace the initial one, except that of a secret. */
export function renderField(field: Field, values?: Values): Html {
  const { name, label, kind = 'text', hint, value, isRequired } = field
  const hintId = `${name}-hint`
  const current = values ? (values[name] ?? '') : (value ?? '')
  const described = hint ? html` aria-describedby="${hintId}"` : ''
  const attributes = html`${isRequired ? html` required` : ''}${described} id="${name}" name="${name}"`
  const control = CONTROLS[kind](attributes, current, field)
  const text = html`<label for="${name}">${label}</label>`
  return html`<div class="field ${kind}">${kind === 'checkbox' ? [control, text] : [text, control]}${
    hint ? html`<small id="${hintId}">${hint}</small>` : ''
  }</div>
`
}

const CONTROLS: Readonly<
  Record<NonNullable<Field['kind']>, (attributes: Html, value: string, field: Field) => Html>
> = {
  text: (attributes, value, { name, choices }) => {
    const input = html`<input${attributes} value="${value}"${choices ? html` list="${name}-choices"` : ''} autocomplete="off" spellcheck="false">`
    const options = choices?.map(([text, title]) => renderOption(text, title))
    return options ? html`${input}<datalist id="${name}-choices">${options}</datalist>` : input
  },
  number: (attributes, value) =>
    html`<input${attributes} value="${value}" inputmode="decimal" autocomplete="off">`,
  // The first line break after <textarea> is not part of the value.
  multiline: (attributes, value) =>
    html`<textarea${attributes} rows="12" autocomplete="off" spellcheck="false">
${value}</textarea>`,
  choice: (attributes, value, { choices = [] }) =>
    html`<select${attributes}>${choices.map(([text, title]) => renderOption(text, title, value))}</select>`,
  checkbox: (attributes, value) =>
    html`<input${attributes} type="checkbox" value="true"${value === 'true' ? html` checked` : ''}>`,
  secret: (attributes) => html`<input${attributes} type="password" autocomplete="off">`,
}
