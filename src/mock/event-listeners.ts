import { withCauses } from '#runtime'
import { isFunction, requireValue } from '../options.ts'
import { printable } from '../receiver/log.ts'
import type { Attempt } from './state/records.ts'
import { servicePath } from './state/services.ts'
import type { Webhook, WebhookChange } from './state/webhooks.ts'

/** An ended attempt or handshake, or a change of state, as reported to listeners. */
export type Notice =
  | { type: 'attempt'; attempt: Attempt }
  | {
      type: 'webhook'
      change: WebhookChange
      webhookId: string
      name: string
      /** The service as in a path: `[folder/]<serviceName>.<serviceType>`. */
      service: string
    }
  | {
      /** A handshake has ended. */
      type: 'handshake'
      webhookId: string
      name: string
      service: string
      ok: boolean
      /** Why it failed, in words that contain no key. */
      reason?: string | undefined
    }
  | {
      /** Events were not sent, because the last handshake of their webhook failed. */
      type: 'not_sent'
      webhookId: string
      name: string
      service: string
      /** Number of events. */
      events: number
      /** Why the handshake failed. */
      reason: string
    }
  | { type: 'restored' }

/** The members of a notice that name its webhook. */
export const describeWebhook = (
  webhook: Readonly<Webhook>,
): { webhookId: string; name: string; service: string } => ({
  webhookId: webhook.id,
  name: webhook.name,
  service: servicePath(webhook),
})

/** Functions that are called with each notice. */
export class Listeners<T = Notice> {
  readonly #listeners = new Set<(notice: T) => void>()

  /** @returns a function that removes the listener */
  on(listener: (notice: T) => void): () => void {
    requireValue('listener', listener, isFunction)
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  emit(notice: T): void {
    for (const listener of this.#listeners) {
      // A listener that throws or rejects must not affect the service.
      const listen = async (): Promise<void> => listener(notice)
      listen().catch(warn)
    }
  }
}

/** Emits a process warning for an error that no caller receives. */
export function warn(error: unknown): void {
  try {
    const text = printable(withCauses(error))
    // The text may quote control characters from a request, which Node would print unescaped. The error itself, which
    // has a stack trace, is emitted only if its text needs no escaping.
    process.emitWarning(error instanceof Error && text === String(error) ? error : text)
  } catch {
    process.emitWarning('something was thrown that cannot be converted to a string')
  }
}
