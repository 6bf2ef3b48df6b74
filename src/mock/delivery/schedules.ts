import { type Gathering, type ScheduleInfo, shownSchedule, type Webhook } from '../state/webhook.ts'
import type { WebhookStore } from '../state/webhooks.ts'

/** Returns the schedule by which a webhook gathers events; undefined if it does not gather them. */
export type ScheduleOf = (webhookId: string) => ScheduleInfo | undefined

export const createScheduleOf =
  (webhooks: WebhookStore, options: Gathering): ScheduleOf =>
  (webhookId) => {
    const webhook = webhooks.get(webhookId)
    if (!webhook || options.gather === 'never') return undefined
    const schedule = shownSchedule(webhook, options)
    return isSchedule(schedule) ? schedule : undefined
  }

const isSchedule = (schedule: Webhook['scheduleInfo']): schedule is ScheduleInfo =>
  'recurrenceInfo' in schedule
