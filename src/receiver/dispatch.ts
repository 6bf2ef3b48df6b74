import { configInvalid } from '../errors.ts'
import {
  type ChangeType,
  type MatchedChangeType,
  subscriptionsOf,
  WILDCARD,
} from '../payload/change-types.ts'
import type { HandledEvent } from '../payload/event.ts'
import { createUnhandledWarning, warnIfMisspelt } from './change-type-warnings.ts'
import type { Delivery } from './delivery.ts'
import { type AttemptContext, createHandlerContext, type HandlerContext } from './handler-context.ts'

/** Handles one event. Without an inbox, the receiver responds after the returned promise has settled. */
export type Handler<T extends string = string, Payload = unknown> = (
  event: HandledEvent<MatchedChangeType<T>>,
  delivery: Delivery<Payload>,
  context: HandlerContext,
) => unknown

/** `'unhandled'` if the receiver has no handler for any event of the delivery. */
export type HandleResult = 'handled' | 'unhandled'

/** The handlers of a receiver, by change type. */
export interface Dispatcher {
  readonly size: number
  add(changeTypes: ChangeType | readonly ChangeType[], handler: Handler): void
  /**
   * Runs the handlers of every event, one after another, in the order of registration. If one fails, the others still
   * run; when the signal is aborted, no further handler starts. If all succeed, runs the functions that they passed to
   * `onSuccess`. Warns about change types without a handler.
   *
   * Throws what the failed handler threw; an `AggregateError` if several failed; the abort reason if the signal is
   * aborted.
   */
  dispatch(delivery: Delivery, context?: AttemptContext): Promise<HandleResult>
}

const isName = (name: unknown): boolean => typeof name === 'string' && name !== ''

export function createDispatcher(): Dispatcher {
  const all: { names: readonly string[]; handler: Handler }[] = []
  const subscribed = new Set<string>()
  const warnUnhandled = createUnhandledWarning()
  /**
   * Cached lists of handlers, by subscribed change type or wildcard. Change types without a subscription are not
   * cached, so that senders cannot grow the map.
   */
  const found = new Map<string, readonly Handler[]>()

  function handlersOf(changeType: string): readonly Handler[] {
    const name = subscriptionsOf(changeType).find((one) => subscribed.has(one)) ?? WILDCARD
    let handlers = found.get(name)
    if (!handlers) {
      const subscriptions = subscriptionsOf(name)
      const isSubscribed = (subscription: string): boolean => subscriptions.includes(subscription)
      handlers = all.filter(({ names }) => names.some(isSubscribed)).map(({ handler }) => handler)
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
      if (!areNames || typeof handler !== 'function') {
        throw configInvalid(
          'on(changeType, handler): changeType must be a string or an array of strings, handler a function',
        )
      }
      all.push({ names: [...names], handler })
      for (const name of names) {
        if (!subscribed.has(name)) warnIfMisspelt(name)
        subscribed.add(name)
      }
      found.clear()
    },

    async dispatch(delivery, context) {
      const errors: unknown[] = []
      const given = createHandlerContext(context)
      let result: HandleResult = 'unhandled'
      for (const event of delivery.events) {
        const handlers = handlersOf(event.changeType)
        if (handlers.length > 0) result = 'handled'
        else warnUnhandled(event.changeType, subscribed)
        for (const handler of handlers) {
          // After an abort, another attempt may already be running, so start no further handler.
          context?.signal.throwIfAborted()
          try {
            await handler(event, delivery, given)
          } catch (error) {
            errors.push(error)
          }
        }
      }
      if (errors.length > 0)
        throw errors.length === 1 ? errors[0] : new AggregateError(errors, 'handlers failed')
      await given.succeed()
      return result
    },
  }
}
