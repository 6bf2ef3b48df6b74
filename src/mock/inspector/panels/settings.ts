import { html } from '../../../inspector/html/template.ts'
import type { Panel } from '../../../inspector/source.ts'
import { settingsFields } from '../../admin/settings-parameters.ts'
import type { Mock } from '../../service.ts'
import type { RunOperation } from '../administration.ts'

/** How deliveries are retried, and when a webhook is deactivated. */
export const createSettingsPanel = ({ state }: Mock, runOperation: RunOperation): Panel => ({
  name: 'settings',
  title: 'Settings',
  async summary() {
    const { notificationAttempts: count } = state.settings
    return `${count} attempt${count === 1 ? '' : 's'}`
  },
  render: async () => html`<table>
<tbody>
${settingsFields(state.settings).map(
  ({ label, value, hint }) => html`<tr><th scope="row">${label}</th><td>${value}</td><td>${hint}</td></tr>
`,
)}</tbody></table>`,
  actions: [
    {
      name: 'change',
      label: 'Change',
      fields: () => settingsFields(state.settings),
      run: (_entry, values) =>
        runOperation('/services/webhooks/settings', values, 'The settings are changed.'),
    },
  ],
})
