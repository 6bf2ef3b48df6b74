import type { Field } from '../../inspector/source.ts'
import { type DeliverySettings, settingsSchema } from '../delivery-settings.ts'
import type { ParameterDescription } from './operation.ts'

const DESCRIPTIONS: Record<keyof DeliverySettings, string> = {
  notificationAttempts: 'Attempts for one delivery.',
  notificationTimeOutInSeconds: 'Timeout of an attempt in seconds.',
  notificationElapsedTimeInSeconds: 'Seconds between two attempts.',
  numberOfFailures: 'A webhook is switched off after this number of failed deliveries …',
  daysInPast: '… within this number of days.',
}

export const SETTING_NAMES: readonly (keyof DeliverySettings)[] = Object.keys(
  DESCRIPTIONS,
) as (keyof DeliverySettings)[]

export const boundsOf = (name: keyof DeliverySettings): { minimum: number; maximum: number } => {
  const { minValue, maxValue } = settingsSchema.shape[name]
  return { minimum: minValue as number, maximum: maxValue as number }
}

export const settingsParameters = (): ParameterDescription[] =>
  SETTING_NAMES.map((name) => ({
    name,
    required: false,
    description: DESCRIPTIONS[name],
    schema: { type: 'integer', ...boundsOf(name) },
  }))

/** The fields of a form that changes the settings. */
export const settingsFields = (settings?: DeliverySettings): Field[] =>
  SETTING_NAMES.map((name) => {
    const { minimum, maximum } = boundsOf(name)
    const hint = `${DESCRIPTIONS[name]} ${minimum} to ${maximum}.`
    return { name, label: name, kind: 'number', value: settings && String(settings[name]), hint }
  })
