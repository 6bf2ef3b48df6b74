import type { Webhook } from '../state/webhook.ts'
import type { Call, RecordedAttempt, ResponseName, ServiceOperation, WebhookOperation } from './operation.ts'
import { SERVICE_OPERATIONS } from './service-operations.ts'
import { WEBHOOK_OPERATIONS } from './webhook-operations.ts'

/** A webhook as hosted services write it (docs/senders.md, "Hosted feature services"). */
export type HostedWebhook = Omit<Webhook, 'id'> & { globalId: string; status?: string; success?: boolean }

function toHostedWebhook({ id, ...others }: Webhook & { status?: string }): HostedWebhook {
  const webhook = { globalId: id, ...others }
  return others.status === undefined ? webhook : { ...webhook, success: true }
}

/** The documentation has `success`; the released clients read `status`. */
const toHostedStatus = (body: object): object => ({ ...body, success: true })

interface HostedResponse {
  name: ResponseName
  convert(body: object, call: Call, webhookId: string): object
}

/** The responses of hosted services, by the response of the same operation on other services. */
const RESPONSES: {
  [name in ResponseName]?: {
    name: ResponseName
    convert(body: object, call: Call, webhookId: string): object
  }
} = {
  Webhook: { name: 'HostedWebhook', convert: (body) => toHostedWebhook(body as Webhook) },
  Webhooks: {
    name: 'HostedWebhooks',
    convert: (body) => (body as { webhooks: Webhook[] }).webhooks.map(toHostedWebhook),
  },
  Status: { name: 'HostedStatus', convert: toHostedStatus },
  NotificationStatus: { name: 'HostedNotificationStatus', convert: toHostedFailures },
}

/** Hosted services write the values as text, and add the response of the receiver. */
function toHostedFailures(body: object, { context }: Call, webhookId: string): object {
  const { webhookNotificationStatus } = body as { webhookNotificationStatus: { invokedTimestamp: number }[] }
  const attempts = context.attempts().filter((attempt) => attempt.webhookId === webhookId)
  return [
    {
      webhookNotificationStatus: webhookNotificationStatus.map(({ invokedTimestamp }) => ({
        invoked: 'false',
        invokedTimestamp: String(invokedTimestamp),
        serverResponse: responseBefore(invokedTimestamp, attempts),
      })),
    },
  ]
}

/** The response to the last attempt of a delivery that failed at this time; empty if the attempt log no longer contains it. */
function responseBefore(time: number, attempts: readonly RecordedAttempt[]): string {
  const attempt = attempts.findLast(({ sentAt }) => sentAt <= time)
  return attempt?.error ?? attempt?.answer?.body ?? ''
}

function hostedResponse(name: ResponseName): HostedResponse {
  const response = RESPONSES[name]
  if (!response) throw new Error(`hosted services have no response ${name}`)
  return response
}

/** The operations on the webhooks of feature services, with the responses of hosted services. */
export const HOSTED_OPERATIONS: readonly (ServiceOperation | WebhookOperation)[] = [
  ...WEBHOOK_OPERATIONS.map((operation): WebhookOperation => {
    const { name, convert } = hostedResponse(operation.response)
    return {
      ...operation,
      response: name,
      async run(call) {
        const { body, changed } = await operation.run(call)
        return { changed, body: convert(body, call, call.webhook.id) }
      },
    }
  }),
  ...SERVICE_OPERATIONS.map((operation): ServiceOperation => {
    const { name, convert } = hostedResponse(operation.response)
    return {
      ...operation,
      response: name,
      async run(call) {
        const { body, changed } = await operation.run(call)
        return { changed, body: convert(body, call, '') }
      },
    }
  }),
]
