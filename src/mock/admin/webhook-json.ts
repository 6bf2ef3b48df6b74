import { type Gathering, shownSchedule, type Webhook } from '../state/webhook.ts'

/** A webhook in responses of create, read and edit: the fields in the specification's order. */
export const toWebhookJson = (webhook: Readonly<Webhook>, options: Gathering): Webhook => ({
  ...webhook,
  scheduleInfo: shownSchedule(webhook, options),
})

/** Webhooks in lists, with `changeTypes` at the end (docs/senders.md, "Administration"). */
export const toListJson = (webhooks: readonly Readonly<Webhook>[], options: Gathering): object => ({
  webhooks: webhooks.map((webhook) => {
    const { changeTypes, ...others } = toWebhookJson(webhook, options)
    return { ...others, changeTypes }
  }),
})

export const SUCCESS = { status: 'success' } as const
