import { servicePath } from '../../state/services.ts'
import type { Webhook } from '../../state/webhook.ts'
import { form } from './forms.ts'
import { type Site, webhookHref, webhooksHref } from './layout.ts'
import { type Html, html } from './template.ts'
import { webhookFields } from './webhook-page.ts'

/** Table of webhooks, each with a link to its page. */
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

/** Forms for the operations on the webhooks of a service. */
export function serviceForms(
  root: string,
  service: string,
  serviceType: Webhook['serviceType'],
  { version, hasTokens }: Site,
): Html {
  const href = webhooksHref(root, service)
  const fields = webhookFields({ serviceType }, version, {
    key: 'Without a key, deliveries are not signed.',
    schedule: 'JSON object; without a schedule, events are not gathered.',
  })
  return html`<h2>Create</h2>
${form(`${href}/create`, 'Create', hasTokens, fields)}
<h2>All</h2>
${form(`${href}/activateAll`, 'Switch all on', hasTokens)}
${form(`${href}/deactivateAll`, 'Switch all off', hasTokens)}
${form(`${href}/deleteAll`, 'Delete all permanently', hasTokens)}`
}
