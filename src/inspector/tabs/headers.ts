import { html } from '../html/template.ts'
import type { Tab } from './tab.ts'

export const headers: Tab = {
  name: 'headers',
  title: 'Headers',
  render: ({
    request: { method, url, headers },
  }) => html`<p class="request-line"><code>${method} ${url}</code></p>
<table>
<thead><tr><th scope="col">Header</th><th scope="col">Value</th></tr></thead>
<tbody>
${headers.map(
  ([name, value]) => html`<tr><th scope="row"><code>${name}</code></th><td><code>${value}</code></td></tr>
`,
)}</tbody></table>
`,
}
