import type { Item } from '../source.ts'
import { renderFacts } from './facts.ts'
import { type Html, html } from './template.ts'

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
