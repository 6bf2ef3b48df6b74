import { WebhookError } from '../errors.ts'
import { type OptionNames, requireObserver } from '../options.ts'
import { createLog } from '../receiver/log.ts'
import type { InboxStats, StoredDelivery } from '../receiver/types.ts'

/** A finished attempt and its delivery. Passed to an {@link InboxObserver}. */
export interface AttemptEnded {
  delivery: StoredDelivery
  /** Name of the handlers. Absent for handlers without a name. */
  handler?: string
  /** Number of the attempt, from 1. */
  attempt: number
  /** Duration of the attempt in milliseconds. */
  milliseconds: number
}

/** A finished call of `put()`. Passed to an {@link InboxObserver}. */
export interface PutEnded {
  /** `'failed'` if the delivery was refused, because the inbox is full or its store failed. */
  result: 'stored' | 'duplicate' | 'failed'
  /** Duration of the call in milliseconds. */
  milliseconds: number
}

/** An inbox of this process. Passed to an {@link InboxObserver}. */
export interface OpenInbox {
  /** Resolves with the statistics of the inbox. Rejects while its store is unreachable. */
  stats(): Promise<InboxStats>
}

/** Functions that an inbox calls on events. Their results and errors are ignored. */
export interface InboxObserver {
  /** The inbox was created. Its store may not be open yet. */
  opened?(inbox: OpenInbox): unknown
  /** `close()` of the inbox was called for the first time. The argument is the same object as in `opened`. */
  closed?(inbox: OpenInbox): unknown
  /** A delivery was stored, was already stored, or could not be stored. */
  put?(event: PutEnded): unknown
  /** The handlers succeeded. */
  handled?(event: AttemptEnded): unknown
  /** No worker has a handler for any event of the delivery, so it is kept as unhandled, or done. */
  unhandled?(event: AttemptEnded): unknown
  /** An attempt failed, and another will follow. */
  failed?(event: AttemptEnded & { error: unknown }): unknown
  /** The last allowed attempt failed, so the delivery is now a dead letter. */
  dead?(event: AttemptEnded & { error: unknown }): unknown
  /** The store is unreachable or returned an error. Workers continue as soon as the store recovers. */
  trouble?(event: { error: unknown }): unknown
}

const NAMES: OptionNames<InboxObserver> = {
  opened: true,
  closed: true,
  put: true,
  handled: true,
  unhandled: true,
  failed: true,
  dead: true,
  trouble: true,
}

/** The argument of one function of an observer. */
export type InboxEvent<Name extends keyof InboxObserver> = Parameters<NonNullable<InboxObserver[Name]>>[0]

/** Calls one function of an observer. */
export type InboxNotify = <Name extends keyof InboxObserver>(name: Name, event: InboxEvent<Name>) => void

/**
 * Wraps the user's observer. Errors without a matching observer function become process warnings.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function createInboxNotify(observer: InboxObserver = {}): InboxNotify {
  requireObserver(observer, NAMES)
  const log = createLog(Date.now)

  return (name, event) => {
    try {
      const listener: unknown = observer[name]
      if (typeof listener === 'function') Promise.resolve(listener.call(observer, event)).catch(() => {})
      else if ('error' in event) {
        log.failed?.({ error: toWebhookError(name, event) } as never)
      }
    } catch {}
  }
}

function toWebhookError(name: string, event: { error: unknown } & Partial<AttemptEnded>): WebhookError {
  const { error: cause, delivery, handler, attempt } = event
  if (!delivery) return new WebhookError('inbox_unavailable', { cause })
  const named = handler === undefined ? '' : `, handler ${handler}`
  if (name === 'dead')
    return new WebhookError('delivery_dead', {
      message: `Delivery ${delivery.id} is a dead letter after attempt ${attempt}${named}`,
      hint: 'To see and to retry it, use "geohook inbox list --state dead" and "geohook inbox retry".',
      cause,
    })
  return new WebhookError('handler_failed', {
    message: `Handler failed for delivery ${delivery.id}, attempt ${attempt}${named}`,
    cause,
  })
}
