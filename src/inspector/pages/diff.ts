import { diffArrays } from 'diff'
import { prettyBody, textOf } from '../body-text.ts'
import { type Context, isoText, timeOfDay } from '../html/context.ts'
import type { Pane } from '../html/page.ts'
import { deliveryPath } from '../html/row.ts'
import { type Html, html } from '../html/template.ts'
import type { Item, Row } from '../source.ts'

/** Maximum size of a compared text in characters, and of the work to compare two. */
const MAX_COMPARED = 512 * 1024
const MAX_EDITS = 2000
const MAX_CHOICES = 100

/** A form that compares a delivery with another one of the list. */
export function compareForm({ href }: Context, { id }: Row, rows: readonly Row[]): Html {
  const others = rows.filter((row) => row.id !== id).slice(0, MAX_CHOICES)
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
  const parts: [string, string, string][] = [
    ['Request', requestText(a), requestText(b)],
    ['Headers', headerText(a), headerText(b)],
    ...(isComparable(a, b)
      ? ([['Body', bodyText(a), bodyText(b)]] satisfies [string, string, string][])
      : []),
  ]
  return {
    title: 'Comparison',
    content: html`<p><del>${nameOf(a)}</del> <a href="${href(deliveryPath(a.id))}">open</a><br><ins>${nameOf(b)}</ins> <a href="${href(deliveryPath(b.id))}">open</a></p>
${parts.map(
  ([title, before, after]) => html`<section aria-label="${title}"><h3>${title}</h3>
${renderDiff(before, after)}</section>
`,
)}${sameBytes(a, b)}`,
  }
}

const nameOf = ({ id, time, changeTypes }: Item): string => `${isoText(time)} ${changeTypes.join(', ')} ${id}`

const requestText = ({ request: { method, url } }: Item): string => `${method} ${url}`
const headerText = ({ request: { headers } }: Item): string =>
  headers
    .map(([name, value]) => `${name}: ${value}`)
    .sort()
    .join('\n')

/** False for large bodies, because indenting them can block the process for seconds. */
const isComparable = (...items: Item[]): boolean =>
  items.reduce((sum, { request }) => sum + (request.body?.length ?? 0), 0) <= MAX_COMPARED

const bodyText = ({ request: { body, contentType } }: Item): string =>
  body ? prettyBody(body, contentType) : ''

/** Says so if the bodies are equal, or differ although their indented texts are equal. */
function sameBytes(a: Item, b: Item): Html {
  const [before, after] = [a.request.body, b.request.body]
  if (!before || !after) return html``
  const isSame = Buffer.compare(before, after) === 0
  if (isSame) return html`<p>The bodies have the same bytes.</p>`
  const isLarge = !isComparable(a, b)
  if (!isLarge && bodyText(a) !== bodyText(b)) return html``
  const found = before.findIndex((byte, index) => byte !== after[index])
  const where = found === -1 ? before.length : found
  const what = isLarge
    ? 'Too large to compare. The bodies differ'
    : 'The bodies differ only in white space, encoded characters or invalid bytes,'
  return html`<p>${what} first at offset ${where}: ${JSON.stringify(textOf(before.subarray(Math.max(0, where - 10), where + 10)))} and ${JSON.stringify(textOf(after.subarray(Math.max(0, where - 10), where + 10)))}.</p>`
}

function renderDiff(before: string, after: string): Html {
  if (before.length + after.length > MAX_COMPARED) return html`<p>Too large to compare.</p>`
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
