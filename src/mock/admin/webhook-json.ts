import { defaultSchedule, type Webhook } from '../state/webhook.ts'

/** A webhook as create, read and edit answer it: the specification's fields in their order. */
export function webhookAnswer(webhook: Readonly<Webhook>): Webhook {
  const { serviceType, scheduleInfo, created } = webhook
  const schedule = serviceType === 'GPServer' ? {} : { ...defaultSchedule(created), ...scheduleInfo }
  return { ...webhook, scheduleInfo: schedule }
}

/** A webhook as lists have it, with `changeTypes` at the end (field facts, "Admin operations"). */
export function listedWebhook(webhook: Readonly<Webhook>): Webhook {
  const { changeTypes, ...others } = webhookAnswer(webhook)
  return { ...others, changeTypes }
}

export const SUCCESS = { status: 'success' } as const
