import type { Field } from '../../inspector/source.ts'
import { optional, type ParameterDescription } from '../http/operation.ts'
import { type DeliverySettings, settingsSchema } from '../schemas.ts'
import { ALL_OPERATIONS } from '../state/services.ts'
import { DEFAULTS, type Webhook } from '../state/webhooks.ts'
import { featureChangeTypesOf } from '../versions.ts'
import type { Context } from './operation.ts'

type Options = Pick<Context['options'], 'version' | 'omitted'>

/** The fields of a form that creates a webhook. Their names are those of the parameters. */
export const createFields = (serviceType: Webhook['serviceType'], options: Options): Field[] =>
  webhookFields({ serviceType }, options, {
    key: 'Without a key, deliveries are not signed.',
    schedule: 'JSON object; without a schedule, events are not gathered.',
  })

/** The fields of a form that edits a webhook. They show neither the key nor the schedule. */
export function editFields(
  webhook: Partial<Webhook> & Pick<Webhook, 'serviceType'>,
  options: Options,
): Field[] {
  const keepsOmitted = options.omitted === 'keep' || webhook.serviceType === 'Portal'
  return webhookFields(webhook, options, {
    key: keepsOmitted ? 'Leave empty to keep the key.' : 'Leave empty to remove the key.',
    schedule: keepsOmitted
      ? 'JSON object with the members to change; leave empty to keep the schedule.'
      : 'JSON object; leave empty to remove the schedule.',
  })
}

function webhookFields(
  values: Partial<Webhook> & Pick<Webhook, 'serviceType'>,
  { version }: Options,
  hints: { key: string; schedule: string },
): Field[] {
  const { name, hookUrl, serviceType } = values
  if (serviceType === 'Portal') return portalFields(values, hints.key)
  const { changeTypes, active, contentType, payloadFormat } = { ...DEFAULTS, ...values }
  const isFeature = serviceType === 'FeatureServer'
  const changeTypesHint = isFeature
    ? `Comma-separated: *, ${featureChangeTypesOf(version).join(', ')}.`
    : 'A geoprocessing service has * only.'
  return [
    { name: 'name', label: 'name', value: name, isRequired: true },
    { name: 'hookUrl', label: 'hookUrl', value: hookUrl, isRequired: true },
    { name: 'changeTypes', label: 'changeTypes', value: changeTypes.join(','), hint: changeTypesHint },
    { name: 'signatureKey', label: 'signatureKey', kind: 'secret', hint: hints.key },
    choice('active', String(active), ['true', 'false']),
    choice('contentType', contentType, ['application/json', 'application/x-www-form-urlencoded']),
    choice('payloadFormat', payloadFormat, ['json', 'pjson']),
    ...(isFeature ? [{ name: 'scheduleInfo', label: 'scheduleInfo', hint: hints.schedule }] : []),
  ]
}

const portalFields = ({ name, hookUrl, changeTypes }: Partial<Webhook>, secretHint: string): Field[] => [
  { name: 'name', label: 'name', value: name, isRequired: true },
  { name: 'url', label: 'url', value: hookUrl, isRequired: true },
  {
    name: 'events',
    label: 'events',
    value: changeTypes?.join(',') ?? ALL_OPERATIONS,
    hint: 'Comma-separated: /, /items, /items/add, /items/<id>, /items/<id>/<operation>, also of groups and users.',
  },
  { name: 'secret', label: 'secret', kind: 'secret', hint: secretHint },
]

const choice = (name: string, value: string, values: readonly string[]): Field => ({
  name,
  label: name,
  kind: 'choice',
  value,
  choices: values.map((text) => [text, text] as const),
})

const DESCRIPTIONS: Record<keyof DeliverySettings, string> = {
  notificationAttempts: 'Attempts for one delivery.',
  notificationTimeOutInSeconds: 'Timeout of an attempt in seconds.',
  notificationElapsedTimeInSeconds: 'Seconds between two attempts.',
  numberOfFailures: 'A webhook is switched off after this number of failed deliveries …',
  daysInPast: '… within this number of days.',
}

export const SETTINGS_PARAMETERS: readonly ParameterDescription[] = Object.entries(DESCRIPTIONS).map(
  ([name, description]) => {
    const { minValue, maxValue } = settingsSchema.shape[name as keyof DeliverySettings]
    return optional(name, description, { type: 'integer', minimum: minValue, maximum: maxValue })
  },
)

export const settingsFields = (settings: DeliverySettings): Field[] =>
  SETTINGS_PARAMETERS.map(({ name, description, schema }) => {
    const hint = `${description} ${schema.minimum} to ${schema.maximum}.`
    const value = String(settings[name as keyof DeliverySettings])
    return { name, label: name, kind: 'number', value, hint }
  })
