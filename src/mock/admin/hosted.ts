import { createHash } from 'node:crypto'
import { WILDCARD } from '../../payload/events.ts'
import type { Attempt } from '../state/records.ts'
import { ORG_ID, type Service, servicePath } from '../state/services.ts'
import { shownSchedule, type Webhook } from '../state/webhooks.ts'
import type { Call, ServiceOperation, SiteOperation, WebhookOperation } from './operation.ts'

// Hosted feature services write webhooks in their own words (docs/senders.md, "Hosted feature services").

/** The wildcard as hosted services write it. */
export const HOSTED_WILDCARD = 'All'

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Returns the numeric id of a webhook or service. It depends on the text alone, so a restart does not change it. */
const numberFor = (text: string): number => hashOf(text).readUIntBE(0, 6)

/** Finds a webhook by the number in its member `id`. */
export const findByNumber = (
  webhooks: Iterable<Readonly<Webhook>>,
  text: string,
): Readonly<Webhook> | undefined =>
  /^\d+$/.test(text) ? [...webhooks].find(({ id }) => String(numberFor(id)) === text) : undefined

/** The id of the portal item that a service belongs to: 32 hex digits. */
export const itemIdOf = (service: Readonly<Service>): string =>
  hashOf(servicePath(service)).toString('hex').slice(0, 32)

export function toHostedWebhook(
  webhook: Readonly<Webhook> & { status?: string },
  { context, origin }: Call,
): object {
  const { folderName, serviceName, changeTypes, status } = webhook
  const { startAt: _, ...scheduleInfo } = shownSchedule(webhook, context.options.window) as {
    startAt?: number
  }
  const path = [folderName, serviceName].filter((name) => name !== '').map(encodeURIComponent)
  const hosted = {
    name: webhook.name,
    owner: webhook.ownerId,
    id: numberFor(webhook.id),
    globalId: webhook.id,
    tenantId: ORG_ID,
    serviceId: numberFor(servicePath(webhook)),
    active: webhook.active,
    hookUrl: webhook.hookUrl,
    serviceUrl: `${origin}/rest/services/${path.join('/')}/FeatureServer`,
    signatureKey: webhook.signatureKey,
    format: webhook.payloadFormat,
    serverGen: context.state.features.of(webhook).generation,
    createdTime: webhook.created,
    lastUpdatedTime: webhook.modified,
    changeTypes: changeTypes.map((name) => (name === WILDCARD ? HOSTED_WILDCARD : name)),
    scheduleInfo,
  }
  return status === undefined ? hosted : toHostedStatus({ ...hosted, status })
}

/** The documentation has `success`; the released clients read `status`. */
const toHostedStatus = (body: object): object => ({ ...body, success: true })

const ALL_SWITCHED = { name: 'WebHooks', serviceType: 'FeatureServer' }

/** Convert responses to those of hosted services, by the name of the response's schema. */
const CONVERTERS: Readonly<Record<string, (body: object, call: Call, webhookId: string) => object>> = {
  Webhook: (body, call) => toHostedWebhook(body as Webhook, call),
  Webhooks: (body, call) =>
    (body as { webhooks: Webhook[] }).webhooks.map((webhook) => toHostedWebhook(webhook, call)),
  Status: toHostedStatus,
  Switched: (body) => toHostedStatus({ ...ALL_SWITCHED, ...body }),
  NotificationStatus: toHostedFailures,
}

/** Hosted services write the values as text, and add the response of the receiver. */
function toHostedFailures(body: object, { context }: Call, webhookId: string): object {
  const { webhookNotificationStatus } = body as { webhookNotificationStatus: { invokedTimestamp: number }[] }
  const attempts = context.engine.log.list().filter((attempt) => attempt.webhookId === webhookId)
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

/** The response to the last attempt of a delivery that failed at this time; empty if the attempt log has lost it. */
function responseBefore(time: number, attempts: readonly Attempt[]): string {
  const attempt = attempts.findLast(({ sentAt }) => sentAt <= time)
  return attempt?.error ?? attempt?.answer?.body ?? ''
}

/** An operation on the webhooks of feature services, with the response of hosted services. */
export function toHosted<Given extends SiteOperation | ServiceOperation | WebhookOperation>(
  operation: Given,
): Given {
  const response = operation.name.endsWith('ctivateAll') ? 'Switched' : operation.response
  const convert = CONVERTERS[response] as (typeof CONVERTERS)[string]
  const run = operation.run as (call: Call) => object | Promise<object>
  return {
    ...operation,
    response: `Hosted${response}`,
    run: async (call: Call & { webhook?: Readonly<Webhook> }) =>
      convert(await run(call), call, call.webhook?.id ?? ''),
  }
}
