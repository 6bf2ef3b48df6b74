import type { DurableInbox, InboxStats } from '../../inbox/durable-inbox.ts'
import type { Panel, PanelTools } from '../action.ts'
import { renderFacts } from '../html/facts.ts'
import { deliveryPath } from '../html/row.ts'
import { type Html, html } from '../html/template.ts'
import { toDuration } from '../html/units.ts'
import { countErrors, type DeadLetterError } from './dead-letters.ts'
import { createPanelActions } from './panel-actions.ts'
import { renderPending } from './pending-plot.ts'
import type { Samples } from './samples.ts'
import { toStoreError } from './store-errors.ts'

/** The panel of an inbox: counts, ages, rates, and the errors of dead letters. */
export function createInboxPanel(inbox: DurableInbox, samples: Samples): Panel {
  async function readStats(): Promise<InboxStats> {
    const stats = await inbox.stats()
    samples.add(stats)
    return stats
  }
  return {
    name: 'inbox',
    title: 'Inbox',
    actions: createPanelActions(inbox),
    async summary() {
      try {
        const { waiting, active, dead } = await readStats()
        return `${number(waiting + active)} pending, ${number(dead)} dead`
      } catch (error) {
        throw toStoreError(error)
      }
    },
    async render(tools) {
      try {
        const stats = await readStats()
        return html`${renderStats(stats)}${renderRates(samples)}${renderPending(samples.all())}${await renderErrors(inbox, stats.dead, tools)}`
      } catch (error) {
        throw toStoreError(error)
      }
    },
  }
}

const number = (value: number): string => value.toLocaleString('en')

function renderStats({ waiting, active, done, dead, maxPending, oldest }: InboxStats): Html {
  const pending = waiting + active
  // `geohook inbox ui` does not know the limit of the process that receives deliveries.
  const isLimited = Number.isFinite(maxPending)
  const share = Math.min(100, Math.floor((pending / maxPending) * 100))
  return renderFacts([
    ['Waiting', number(waiting)],
    ['Active', number(active)],
    ['Done', number(done)],
    ['Dead letters', dead > 0 ? html`<span class="outcome bad">${number(dead)}</span>` : '0'],
    [
      'Pending',
      isLimited ? `${number(pending)} of at most ${number(maxPending)}: ${share} % full` : number(pending),
    ],
    ['Oldest waiting', oldest ? `received ${toDuration(Date.now() - +oldest)} ago` : 'none'],
  ])
}

function renderRates(samples: Samples): Html {
  const rates = samples.rates()
  const [first, last] = [samples.all()[0], samples.all().at(-1)]
  if (!rates || !first || !last)
    return html`<p>Rates appear as soon as the page has been open for a second.</p>`
  const text = (rate: number): string => `${rate.toFixed(rate > 0 && rate < 10 ? 1 : 0)} per minute`
  return html`<h3>Rates in the last ${toDuration(Math.max(2000, last.time - first.time))}</h3>
${renderFacts([
  ['Arriving', text(rates.arriving)],
  ['Handled', text(rates.handled)],
  ['Becoming dead', text(rates.dead)],
])}`
}

async function renderErrors(inbox: DurableInbox, dead: number, tools: PanelTools): Promise<Html> {
  const { errors, read } = await countErrors(inbox, dead)
  if (errors.length === 0)
    return html`<h3>Errors of dead letters</h3>
<p>There are no dead letters.</p>`
  return html`<h3>Errors of ${read < dead ? `the newest ${number(read)} of ${number(dead)} ` : ''}dead letters</h3>
<table>
<thead><tr><th scope="col">Error</th><th scope="col">Dead letters</th><th scope="col">First</th><th scope="col">Last</th></tr></thead>
<tbody>
${errors.map((entry) => renderError(entry, tools))}</tbody></table>
`
}

const renderError = ({ error, count, first, last, id }: DeadLetterError, { href }: PanelTools): Html =>
  html`<tr><td><a href="${href(deliveryPath(id))}"><code>${error}</code></a></td><td>${number(count)}</td><td>${age(first)}</td><td>${age(last)}</td></tr>
`

const age = (time: Date): string => `${toDuration(Date.now() - +time)} ago`
