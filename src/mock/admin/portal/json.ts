import { WILDCARD } from '../../../payload/events.ts'
import { ALL_OPERATIONS, DEFAULT_PORTAL_CONFIG, type PortalConfig } from '../../state/portal.ts'
import type { Webhook } from '../../state/webhook.ts'
import type { RecordedAttempt } from '../operation.ts'
import type { Page } from './paging.ts'

/** A webhook as a portal writes it (docs/senders.md, "Organization webhooks"). */
export interface PortalWebhook {
  id: string
  /** Id of the portal. */
  accountId: string
  payloadUrl: string
  secret: string
  isActive: boolean
  name: string
  config: PortalConfig
  ownerId: string
  created: number
  modified: number
  events: string[]
}

export const toPortalWebhook = (webhook: Readonly<Webhook>): PortalWebhook => ({
  id: webhook.id,
  accountId: webhook.serviceName,
  payloadUrl: webhook.hookUrl,
  secret: webhook.signatureKey,
  isActive: webhook.active,
  name: webhook.name,
  config: webhook.config ?? DEFAULT_PORTAL_CONFIG,
  ownerId: webhook.ownerId,
  created: webhook.created,
  modified: webhook.modified,
  events: webhook.changeTypes.map((name) => (name === WILDCARD ? ALL_OPERATIONS : name)),
})

/** The list of webhooks. */
export type PortalWebhooks = Page & { webhooks: PortalWebhook[] }

/** An attempt as `notificationStatus` of a portal writes it. */
export const toNotification = ({ webhookId, sentAt, request, answer, error }: RecordedAttempt): object => ({
  id: webhookId,
  isInvoked: answer !== undefined && isSuccess(answer),
  invokedTimestamp: new Date(sentAt).toISOString().replace('T', ' ').replace('Z', ''),
  responseText: answer?.body ?? error ?? '',
  payload: Buffer.from(request.body).toString(),
})

/** True for any 2xx status (docs/decisions.md). */
export const isSuccess = ({ status }: { status: number }): boolean => status >= 200 && status < 300
