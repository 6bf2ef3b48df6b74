import type { Context } from '../html/context.ts'
import type { Pane } from '../html/page.ts'
import { renderPlots } from '../html/plots.ts'
import { html } from '../html/template.ts'
import type { RowPage } from '../source.ts'

/** The pane of the start page: what happened recently. */
export const startPane = (_context: Context, { rows }: RowPage): Pane => ({
  title: 'Overview',
  isStart: true,
  content:
    rows.length === 0 ? html`<p>Deliveries appear here as soon as they arrive.</p>` : renderPlots(rows),
})
