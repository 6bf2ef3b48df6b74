import { writeBody } from '../../testing/signer.ts'
import type { Webhook } from '../state/webhook.ts'
import type { Attempt } from './attempt-log.ts'
import type { Engine } from './engine.ts'
import { toPortalPayload } from './portal-payload.ts'

/**
 * Announces a webhook of a portal to its payload URL. Of the body, only the member `WebhookRegistry` is known; it
 * contains the `info` of deliveries (docs/decisions.md, "Mock service"). The attempt is in the log.
 */
export async function sendRegistration(
  { sign, sendOnce }: Pick<Engine, 'sign' | 'sendOnce'>,
  webhook: Readonly<Webhook>,
  now: number,
): Promise<Attempt> {
  const { contentType, hookUrl } = webhook
  const event = { changeType: 'register', subscriptions: [], when: now, layerIds: [0], generation: 0 }
  const { info } = toPortalPayload(webhook, [event]) as { info: object }
  const payload = writeBody({ WebhookRegistry: info }, { contentType })
  return sendOnce({ webhook, payload, contentType }, hookUrl, await sign(webhook, payload, undefined))
}
