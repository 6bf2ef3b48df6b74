import type { Row, RowOutcome } from '../source.ts'
import { type Html, html } from './template.ts'

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
