import type { Row, RowOutcome } from '../source.ts'
import { type Context, renderTime } from './context.ts'
import { type Html, html } from './template.ts'

/** One delivery in the list. The script replaces it when the delivery changes. */
export function renderRow(row: Row, { href }: Pick<Context, 'href'>, selected?: string): Html {
  const { id, time, changeTypes, service, webhook, target, outcome, attempts, note } = row
  const name = changeTypes.join(', ') || (target ?? 'unknown content')
  const place = [service, webhook].filter(Boolean).join(' · ') || (changeTypes.length > 0 && target) || note
  return html`<li data-id="${id}"><a href="${href(deliveryPath(id))}"${
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
