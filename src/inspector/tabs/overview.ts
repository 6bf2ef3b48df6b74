import { isoText, renderTime } from '../html/context.ts'
import { renderFacts } from '../html/facts.ts'
import { html } from '../html/template.ts'
import { toSize } from '../html/units.ts'
import { renderWhy } from '../html/why.ts'
import type { Tab } from './tab.ts'

export const overview: Tab = {
  name: '',
  title: 'Overview',
  async render(item) {
    const { time, changeTypes, service, webhook, target, milliseconds, size, request, facts } = item
    return html`${await renderWhy(item)}${renderFacts([
      ['Time', html`${renderTime(time)} <small>${isoText(time)}</small>`],
      ['Change types', changeTypes.join(', ') || 'unknown'],
      ['Service', service],
      ['Webhook', webhook],
      ['Request', `${request.method} ${target ?? (request.url || '(the address is not stored)')}`],
      ['Content type', request.contentType || 'none'],
      ['Size', toSize(size)],
      ['Duration', milliseconds === undefined ? undefined : `${milliseconds} ms`],
      ['Attempts', String(item.attempts)],
      ...facts,
    ])}`
  },
}
