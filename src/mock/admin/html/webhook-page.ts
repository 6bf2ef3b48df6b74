import { type Html, html } from '../../../inspector/html/template.ts'
import type { Webhook } from '../../state/webhook.ts'
import { form } from './forms.ts'
import { type Place, webhookHref } from './layout.ts'
import { editForm } from './operation-form.ts'

/** The fields of a webhook, and forms to edit and delete it. */
export function webhookContent(
  { signatureKey, ...fields }: Webhook & { status?: string },
  place: Place,
): Html[] {
  const { address, root, site } = place
  const table = fieldTable({ ...fields, signatureKey: signatureKey ? 'set' : 'not set' })
  const edited = editForm({ ...place, id: fields.id }, { signatureKey: '', ...fields })
  if (!address.service || !edited) return [table]
  return [
    table,
    html`<h2>Edit</h2>
${form(edited.action, edited.button, { fields: edited.fields, hasToken: site.hasTokens })}`,
    html`<h2>Delete</h2>
${form(`${webhookHref(root, address.service.path, fields.id, address.family)}/delete`, 'Delete …')}`,
  ]
}

/** Table of names and values; values other than text are shown as JSON. */
export const fieldTable = (fields: object): Html => html`<table>
${Object.entries(fields).map(
  ([name, value]) => html`<tr><th scope="row">${name}</th><td>${toText(value)}</td></tr>
`,
)}</table>
`

const toText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 1) ?? '')
