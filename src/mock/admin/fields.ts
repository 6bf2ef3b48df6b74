import type { Field } from '../../inspector/source.ts'
import { type DeliverySettings, settingsSchema } from '../delivery-settings.ts'
import { optional, type ParameterDescription } from '../http/operation.ts'
import { ALL_OPERATIONS, type Service } from '../state/services.ts'
import { DEFAULTS, type Webhook } from '../state/webhooks.ts'
import { featureChangeTypesOf } from '../versions.ts'
import type { Context } from './operation.ts'

type Options = Pick<Context['options'], 'version' | 'omitted'>

/**
 * The fields of a form that creates a webhook of a service, or edits a webhook. Their names are those of the parameters.
 * They show neither the key nor the schedule.
 */
export function webhookFields(subject: Service | Readonly<Webhook>, { version, omitted }: Options): Field[] {
  const { serviceType } = subject
  const webhook: Partial<Webhook> = subject
  const hints =
    webhook.id === undefined ? CREATE_HINTS : EDIT_HINTS[serviceType === 'Portal' ? 'keep' : omitted]
  if (serviceType === 'Portal') return portalFields(webhook, hints.key)
  const { changeTypes, active, contentType, payloadFormat } = { ...DEFAULTS, ...webhook }
  const isFeature = serviceType === 'FeatureServer'
  const changeTypesHint = isFeature
    ? `Comma-separated: *, ${featureChangeTypesOf(version).join(', ')}.`
    : 'A geoprocessing service has * only.'
  return [
    field('name', { value: webhook.name, isRequired: true }),
    field('hookUrl', { value: webhook.hookUrl, isRequired: true }),
    field('changeTypes', { value: changeTypes.join(','), hint: changeTypesHint }),
    field('signatureKey', { kind: 'secret', hint: hints.key }),
    choice('active', String(active), ['true', 'false']),
    choice('contentType', contentType, ['application/json', 'application/x-www-form-urlencoded']),
    choice('payloadFormat', payloadFormat, ['json', 'pjson']),
    ...(isFeature ? [field('scheduleInfo', { hint: hints.schedule })] : []),
  ]
}

const CREATE_HINTS = {
  key: 'Without a key, deliveries are not signed.',
  schedule: 'JSON object; without a schedule, events are not gathered.',
}

/** What an empty field of an edit means, by the option `omitted`. */
const EDIT_HINTS = {
  keep: {
    key: 'Leave empty to keep the key.',
    schedule: 'JSON object with the members to change; leave empty to keep the schedule.',
  },
  reset: {
    key: 'Leave empty to remove the key.',
    schedule: 'JSON object; leave empty to remove the schedule.',
  },
}

const portalFields = ({ name, hookUrl, changeTypes }: Partial<Webhook>, secretHint: string): Field[] => [
  field('name', { value: name, isRequired: true }),
  field('url', { value: hookUrl, isRequired: true }),
  field('events', {
    value: changeTypes?.join(',') ?? ALL_OPERATIONS,
    hint: 'Comma-separated: /, /items, /items/add, /items/<id>, /items/<id>/<operation>, also of groups and users.',
  }),
  field('secret', { kind: 'secret', hint: secretHint }),
]

const field = (name: string, more: Omit<Field, 'name' | 'label'>): Field => ({ name, label: name, ...more })

const choice = (name: string, value: string, values: readonly string[]): Field =>
  field(name, { kind: 'choice', value, choices: values.map((text) => [text, text] as const) })

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
    return field(name, { kind: 'number', value, hint })
  })
