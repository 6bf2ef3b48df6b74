import { DEFAULTS, type Webhook } from '../../state/webhook.ts'
import type { ServiceVersion } from '../../versions.ts'
import { triggersOf } from '../../versions.ts'
import { field, form, input, secret, select } from './forms.ts'
import { type Html, html } from './template.ts'
import { type Site, webhookHref } from './view.ts'

/** A webhook: its fields, and forms to edit and to delete it. */
export function webhookContent(
  { signatureKey, ...fields }: Webhook & { status?: string },
  root: string,
  service: string,
  site: Site,
): Html[] {
  const href = webhookHref(root, service, fields.id)
  const rows = { ...fields, signatureKey: signatureKey ? 'set' : 'not set' }
  const keeps = site.omitted === 'keep'
  const hints = {
    key: keeps ? 'Empty keeps the key.' : 'Empty takes the key away.',
    schedule: keeps
      ? 'A JSON object with what is to change of it; empty keeps it.'
      : 'A JSON object; empty takes its own schedule away.',
  }
  return [
    fieldTable(rows),
    html`<h2>Edit</h2>
${form(`${href}/edit`, 'Edit', site.hasTokens, webhookFields(fields, site.version, hints))}
<h2>Delete</h2>
${form(`${href}/delete`, 'Delete for ever', site.hasTokens)}`,
  ]
}

/** The fields of the forms for create and edit. */
export function webhookFields(
  values: Partial<Webhook> & Pick<Webhook, 'serviceType'>,
  version: ServiceVersion,
  hints: { key: string; schedule: string },
): Html[] {
  const { name, hookUrl, serviceType } = values
  const { changeTypes, active, contentType, payloadFormat } = { ...DEFAULTS, ...values }
  return [
    field('name', input('name', name, true)),
    field('hookUrl', input('hookUrl', hookUrl, true)),
    field('changeTypes', input('changeTypes', changeTypes.join(',')), triggerHint(serviceType, version)),
    field('signatureKey', secret('signatureKey'), hints.key),
    field('active', select('active', ['true', 'false'], String(active))),
    field(
      'contentType',
      select('contentType', ['application/json', 'application/x-www-form-urlencoded'], contentType),
    ),
    field('payloadFormat', select('payloadFormat', ['json', 'pjson'], payloadFormat)),
    ...(serviceType === 'FeatureServer'
      ? [field('scheduleInfo', input('scheduleInfo'), hints.schedule)]
      : []),
  ]
}

const triggerHint = (serviceType: Webhook['serviceType'], version: ServiceVersion): string =>
  serviceType === 'GPServer'
    ? 'A geoprocessing service has * only.'
    : `Comma-separated: *, ${triggersOf(version).join(', ')}.`

/** Names and values; what is no text or number is shown as JSON. */
export const fieldTable = (fields: object): Html => html`<table>
${Object.entries(fields).map(
  ([name, value]) => html`<tr><th scope="row">${name}</th><td>${toText(value)}</td></tr>
`,
)}</table>
`

const toText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 1) ?? '')
