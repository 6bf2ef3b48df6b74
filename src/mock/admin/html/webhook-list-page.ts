import { type Html, html } from '../../../inspector/html/template.ts'
import { servicePath } from '../../state/services.ts'
import type { Webhook } from '../../state/webhook.ts'
import { form } from './forms.ts'
import { type Place, webhookHref, webhooksHref } from './layout.ts'
import { createForm } from './operation-form.ts'

/** Table of webhooks, each with a link to its page. */
export function webhookTable(webhooks: readonly Webhook[], place: Place): Html {
  if (webhooks.length === 0) return html`<p>There are no webhooks.</p>`
  return html`<table>
<tr><th>name</th><th>service</th><th>changeTypes</th><th>hookUrl</th><th>active</th><th>signatureKey</th></tr>
${webhooks.map((webhook) => row(webhook, place))}</table>
`
}

function row(webhook: Webhook, { address, root }: Place): Html {
  const { id, name, changeTypes, hookUrl, active, signatureKey } = webhook
  const path = servicePath(webhook)
  const cells = [path, changeTypes.join(', '), hookUrl, active, signatureKey ? 'set' : 'not set']
  return html`<tr><td><a href="${webhookHref(root, path, id, address.family)}">${name}</a></td>${cells.map(
    (cell) => html`<td>${cell}</td>`,
  )}</tr>
`
}

/** Forms for the operations on the webhooks of a service; none on the page of the whole site. */
export function serviceForms(place: Place): Html[] {
  const { address, root, site } = place
  const created = createForm(place)
  if (!address.service || !created) return []
  const href = webhooksHref(root, address.service.path, address.family)
  const hasToken = site.hasTokens
  return [
    html`<h2>Create</h2>
${form(created.action, created.button, { fields: created.fields, hasToken })}`,
    html`<h2>All</h2>
${form(`${href}/activateAll`, 'Switch all on', { hasToken })}${form(`${href}/deactivateAll`, 'Switch all off', { hasToken })}${form(`${href}/deleteAll`, 'Delete all …')}`,
  ]
}
