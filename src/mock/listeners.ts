import type { Attempt } from './delivery/attempt-log.ts'
import type { WebhookChange } from './state/webhooks.ts'
import { warn } from './warn.ts'

/** Something that has happened in a mock service. */
export type Notice =
  | { type: 'attempt'; attempt: Attempt }
  | {
      type: 'webhook'
      change: WebhookChange
      webhookId: string
      name: string
      /** As in a path: `[folder/]<serviceName>.<serviceType>`. */
      service: string
    }
  | { type: 'restored' }

/** Those who want to know what happens. */
export interface Notices {
  /** @returns the function that ends it */
  on(listener: (notice: Notice) => void): () => void
  emit(notice: Notice): void
}

export function createNotices(): Notices {
  const listeners = new Set<(notice: Notice) => void>()
  return {
    on(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    emit(notice) {
      for (const listener of listeners) {
        // A listener's fault must not change what the service does, whether it throws or rejects.
        const listen = async (): Promise<void> => listener(notice)
        listen().catch(warn)
      }
    },
  }
}
