import type { Panel } from '../action.ts'
import { actionButton, type Context, panelTools } from '../html/context.ts'
import type { Pane } from '../html/page.ts'
import { html } from '../html/template.ts'

/** The pane of a panel: its content, and the actions on the panel itself. */
export async function panelPane(context: Context, panel: Panel): Promise<Pane> {
  const { name, title, actions } = panel
  const buttons = actions
    .filter(({ isOnEntry, isAvailable }) => !isOnEntry && (isAvailable?.('') ?? true))
    .map((action) =>
      actionButton(context, `/${name}/${action.name}`, {
        label: action.label,
        isDirect: !action.fields && !action.question,
      }),
    )
  return {
    title,
    content: [
      buttons.length > 0 ? html`<div class="bar"><div class="actions">${buttons}</div></div>` : html``,
      html`<div id="panel">${await panel.render(panelTools(context, name))}</div>`,
    ],
  }
}
