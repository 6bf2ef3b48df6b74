import { defaultSchedule, type Webhook } from '../state/webhook.ts'

/** A webhook in responses of create, read and edit: the fields in the specification's order. */
export function toWebhookJson(webhook: Readonly<Webhook>): Webhook {
  const { serviceType, scheduleInfo, created } = webhook
  const schedule = serviceType === 'GPServer' ? {} : { ...defaultSchedule(created), ...scheduleInfo }
  return { ...webhook, scheduleInfo: schedule }
}

/** A webhook in lists, with `changeTypes` at the end (docs/senders.md, "Administration"). */
export function toListedWebhookJson(webhook: Readonly<Webhook>): Webhook {
  const { changeTypes, ...others } = toWebhookJson(webhook)
  return { ...others, changeTypes }
}

export const SUCCESS = { status: 'success' } as const
