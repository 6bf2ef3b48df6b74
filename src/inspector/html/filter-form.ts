import type { Context } from './context.ts'
import { type Html, html } from './template.ts'

/** The filters. Their values are in the URL, so that an address can be shared. The script submits them on change. */
export async function filterForm({ source, filters, href }: Context): Promise<Html> {
  const { services, webhooks, changeTypes, outcomes } = await source.filters()
  const choice = (
    name: string,
    label: string,
    values: readonly string[],
    current: string | undefined,
  ): Html => {
    if (values.length === 0 && current === undefined) return html``
    const all = current === undefined || values.includes(current) ? values : [current, ...values]
    return html`<select name="${name}" aria-label="${label}"><option value="">${label.toLowerCase()}</option>${all.map(
      (value) => html`<option${value === current ? html` selected` : ''} value="${value}">${value}</option>`,
    )}</select>
`
  }
  return html`<form class="filters" id="filters" role="search" action="${href('/').split('?')[0]}">
<input type="search" name="text" value="${filters.text}" placeholder="filter" title="Searches ids, change types, services, webhooks, addresses, outcomes and errors" aria-label="Text" autocomplete="off" spellcheck="false">
${choice('service', 'Service', services, filters.service)}${choice('webhook', 'Webhook', webhooks, filters.webhook)}${choice('type', 'Change type', changeTypes, filters.changeType)}${choice('outcome', 'Outcome', outcomes, filters.outcome)}<button>Filter</button>
</form>`
}
