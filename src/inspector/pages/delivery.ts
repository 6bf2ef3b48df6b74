import { actionButton, type Context } from '../html/context.ts'
import type { Pane } from '../html/page.ts'
import { deliveryPath, renderOutcome } from '../html/row.ts'
import { type Html, html } from '../html/template.ts'
import type { Item, RowPage } from '../source.ts'
import type { Tab } from '../tabs/tab.ts'
import { TABS } from '../tabs/tabs.ts'
import { compareForm } from './diff.ts'

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

export const titleOf = ({ changeTypes, service, target = '', outcome }: Item): string =>
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
    .map(({ name, label, fields, question }) =>
      actionButton(context, deliveryPath(item.id, name), { label, isDirect: !fields && !question }),
    )}</div>`
