import { toCount } from '../../../inspector/html/template.ts'
import type { Mock } from '../../service.ts'

/** The handshake of a webhook in words; undefined if the service makes no handshakes. */
export function handshakeText({ engine }: Mock, webhookId: string): string | undefined {
  const state = engine.handshakes?.stateOf(webhookId)
  if (state === undefined) return undefined
  if (state === 'unsigned') return 'none: the webhook has no key'
  if (state === 'portal') return 'none: a portal sends a registration instead'
  if (state === 'due') return 'due before the next delivery'
  if (state === 'in flight') return 'in flight: deliveries wait for it'
  const { when, reason, notSent = 0 } = state
  const time = new Date(when).toISOString()
  if (reason === undefined) return `succeeded at ${time}`
  return `failed at ${time}: ${reason}. Deliveries are stopped; ${toCount(notSent, 'event')} not sent.`
}
