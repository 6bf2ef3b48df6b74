import { servicePath } from '../../state/services.ts'
import type { Webhook } from '../../state/webhook.ts'
import { form } from './forms.ts'
import { type Html, html } from './template.ts'
import { type Site, webhookHref, webhooksHref } from './view.ts'
import { webhookFields } from './webhook-page.ts'

/** Webhooks in a table, each with a link to its page. */
export function webhookTable(webhooks: readonly Webhook[], root: string): Html {
  if (webhooks.length === 0) return html`<p>There are no webhooks.</p>`
  return html`<table>
<tr><th>name</th><th>service</th><th>changeTypes</th><th>hookUrl</th><th>active</th><th>signatureKey</th></tr>
${webhooks.map((webhook) => row(webhook, root))}</table>
`
}

function row(webhook: Webhook, root: string): Html {
  const { id, name, changeTypes, hookUrl, active, signatureKey } = webhook
  const path = servicePath(webhook)
  const cells = [path, changeTypes.join(', '), hookUrl, active, signatureKey ? 'set' : 'not set']
  return html`<tr><td><a href="${webhookHref(root, path, id)}">${name}</a></td>${cells.map(
    (cell) => html`<td>${cell}</td>`,
  )}</tr>
`
}

/** What can be done with the webhooks of a service. */
export function serviceForms(
  root: string,
  service: string,
  serviceType: Webhook['serviceType'],
  { version, hasTokens }: Site,
): Html {
  const href = webhooksHref(root, service)
  const fields = webhookFields({ serviceType }, version, {
    key: 'Without one, deliveries are not signed.',
    schedule: 'A JSON object; without one, events are not gathered.',
  })
  return html`<h2>Create</h2>
${form(`${href}/create`, 'Create', hasTokens, fields)}
<h2>All</h2>
${form(`${href}/activateAll`, 'Switch all on', hasTokens)}
${form(`${href}/deactivateAll`, 'Switch all off', hasTokens)}
${form(`${href}/deleteAll`, 'Delete all for ever', hasTokens)}`
}
