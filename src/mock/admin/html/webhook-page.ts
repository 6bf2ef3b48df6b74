import { DEFAULTS, type Webhook } from '../../state/webhook.ts'
import { featureChangeTypesOf, type ServiceVersion } from '../../versions.ts'
import { field, form, input, secretInput, select } from './forms.ts'
import { type Site, webhookHref } from './layout.ts'
import { type Html, html } from './template.ts'

/** The fields of a webhook, and forms to edit and delete it. */
export function webhookContent(
  { signatureKey, ...fields }: Webhook & { status?: string },
  root: string,
  service: string,
  site: Site,
): Html[] {
  const href = webhookHref(root, service, fields.id)
  const rows = { ...fields, signatureKey: signatureKey ? 'set' : 'not set' }
  const keepsOmitted = site.omitted === 'keep'
  const hints = {
    key: keepsOmitted ? 'Leave empty to keep the key.' : 'Leave empty to remove the key.',
    schedule: keepsOmitted
      ? 'JSON object with the members to change; leave empty to keep the schedule.'
      : 'JSON object; leave empty to remove the schedule.',
  }
  return [
    fieldTable(rows),
    html`<h2>Edit</h2>
${form(`${href}/edit`, 'Edit', site.hasTokens, webhookFields(fields, site.version, hints))}
<h2>Delete</h2>
${form(`${href}/delete`, 'Delete permanently', site.hasTokens)}`,
  ]
}

/** Fields of the forms for create and edit. */
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
    field('changeTypes', input('changeTypes', changeTypes.join(',')), changeTypesHint(serviceType, version)),
    field('signatureKey', secretInput('signatureKey'), hints.key),
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

const changeTypesHint = (serviceType: Webhook['serviceType'], version: ServiceVersion): string =>
  serviceType === 'GPServer'
    ? 'A geoprocessing service has * only.'
    : `Comma-separated: *, ${featureChangeTypesOf(version).join(', ')}.`

/** Table of names and values; values other than text are shown as JSON. */
export const fieldTable = (fields: object): Html => html`<table>
${Object.entries(fields).map(
  ([name, value]) => html`<tr><th scope="row">${name}</th><td>${toText(value)}</td></tr>
`,
)}</table>
`

const toText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 1) ?? '')
