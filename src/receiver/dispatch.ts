import { configInvalid } from '../errors.ts'
import { type ChangeType, type Covered, subscriptionsOf, WILDCARD } from '../payload/change-types.ts'
import type { WebhookEvent } from '../payload/event.ts'
import type { Delivery } from './delivery.ts'

/** What a handler may need to know of the work that it is part of. */
export interface HandlerContext {
  /** Aborted when the handler is no longer waited for: at the time-out of an inbox. Without an inbox it never is. */
  signal: AbortSignal
  /** Which attempt to handle the delivery this is, from 1. Without an inbox every request is a first one. */
  attempt: number
}

/**
 * The user's function for one event. When its promise settles, the delivery is answered; with an inbox it has been
 * answered before.
 */
export type Handler<T extends string = string, Payload = unknown> = (
  event: WebhookEvent<Covered<T>>,
  delivery: Delivery<Payload>,
  context: HandlerContext,
) => unknown

/** The handlers of a receiver, by change type. */
export interface Dispatcher {
  readonly size: number
  add(changeTypes: ChangeType | readonly ChangeType[], handler: Handler): void
  /**
   * Runs the handlers of every event, one after another, in the order of registration. One that fails does not keep
   * the others from running; when the signal is aborted, no other begins.
   *
   * @throws {AggregateError} with the error of each handler that failed; the reason of the signal
   */
  dispatch(delivery: Delivery, context?: HandlerContext): Promise<void>
}

/** The context without an inbox. A signal costs more than all the rest of a dispatch, and few handlers ask for it. */
class FirstAttempt implements HandlerContext {
  attempt = 1
  get signal(): AbortSignal {
    return new AbortController().signal
  }
}

const isName = (name: unknown): boolean => typeof name === 'string' && name !== ''

export function createDispatcher(): Dispatcher {
  const all: { names: readonly string[]; handler: Handler }[] = []
  const subscribed = new Set<string>()
  /** Handlers by subscribed name or wildcard, never by another change type: senders must not make it grow. */
  const found = new Map<string, readonly Handler[]>()

  function handlersOf(changeType: string): readonly Handler[] {
    const name = subscriptionsOf(changeType).find((one) => subscribed.has(one)) ?? WILDCARD
    let handlers = found.get(name)
    if (!handlers) {
      const subscriptions = subscriptionsOf(name)
      const isMeant = (one: string): boolean => subscriptions.includes(one)
      handlers = all.filter(({ names }) => names.some(isMeant)).map(({ handler }) => handler)
      found.set(name, handlers)
    }
    return handlers
  }

  return {
    get size() {
      return all.length
    },

    add(changeTypes, handler) {
      const names = typeof changeTypes === 'string' ? [changeTypes] : changeTypes
      const areNames = Array.isArray(names) && names.length > 0 && names.every(isName)
      if (!areNames || typeof handler !== 'function') throw configInvalid('on() needs names and a function')
      all.push({ names: [...names], handler })
      for (const name of names) subscribed.add(name)
      found.clear()
    },

    async dispatch(delivery, context) {
      const errors: unknown[] = []
      const given = context ?? new FirstAttempt()
      for (const event of delivery.events) {
        for (const handler of handlersOf(event.changeType)) {
          // Nobody waits for the rest any more, and another attempt may be at work.
          context?.signal.throwIfAborted()
          try {
            await handler(event, delivery, given)
          } catch (error) {
            errors.push(error)
          }
        }
      }
      if (errors.length > 0) throw new AggregateError(errors, 'handlers failed')
    },
  }
}
