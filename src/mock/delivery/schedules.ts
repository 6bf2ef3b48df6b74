import type { ResolvedOptions } from '../options.ts'
import { defaultSchedule, type ScheduleInfo, type Webhook } from '../state/webhook.ts'
import type { WebhookStore } from '../state/webhooks.ts'

/** Returns the schedule by which a webhook gathers events; undefined if it does not gather them. */
export type ScheduleOf = (webhookId: string) => ScheduleInfo | undefined

export const createScheduleOf =
  (webhooks: WebhookStore, gather: ResolvedOptions['gather']): ScheduleOf =>
  (webhookId) => {
    const webhook = webhooks.get(webhookId)
    if (!webhook || webhook.serviceType === 'GPServer' || gather === 'never') return undefined
    const { scheduleInfo, created } = webhook
    if (isSchedule(scheduleInfo)) return scheduleInfo
    return gather === 'always' ? defaultSchedule(created) : undefined
  }

const isSchedule = (schedule: Webhook['scheduleInfo']): schedule is ScheduleInfo =>
  'recurrenceInfo' in schedule
