import { WebhookError } from '../errors.ts'
import type { StoredDelivery } from '../receiver/delivery.ts'
import { createLog } from '../receiver/log.ts'

/** What is told of an attempt to handle a delivery. */
export interface AttemptEnded {
  delivery: StoredDelivery
  /** From 1. */
  attempt: number
  milliseconds: number
}

/** Functions that are told what happens to the deliveries in an inbox. What they return or throw changes nothing. */
export interface InboxObserver {
  /** The handlers have succeeded. */
  handled?(seen: AttemptEnded): unknown
  /** An attempt failed, and there will be another. */
  failed?(seen: AttemptEnded & { error: unknown }): unknown
  /** An attempt failed, and it was the last. */
  dead?(seen: AttemptEnded & { error: unknown }): unknown
  /** The store cannot be reached, or does not do what it should. Workers go on as soon as it does. */
  trouble?(seen: { error: unknown }): unknown
}

/** Tells one thing to whoever listens. */
export type InboxTell = <Name extends keyof InboxObserver>(
  name: Name,
  seen: Parameters<NonNullable<InboxObserver[Name]>>[0],
) => void

/** The user's observer, with a log of what fails for what it has no function for. */
export function createInboxTell(observer: InboxObserver): InboxTell {
  const log = createLog(Date.now)

  return (name, seen) => {
    try {
      const told: unknown = observer[name]
      if (typeof told === 'function') Promise.resolve(told.call(observer, seen)).catch(() => {})
      else if ('error' in seen) {
        const code = name === 'trouble' ? 'inbox_unavailable' : 'handler_failed'
        log.failed?.({ error: new WebhookError(code, { cause: seen.error }) } as never)
      }
    } catch {}
  }
}
