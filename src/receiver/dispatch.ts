import { configInvalid } from '../errors.ts'
import {
  type ChangeType,
  type MatchedChangeType,
  subscriptionsOf,
  WILDCARD,
} from '../payload/change-types.ts'
import type { HandledEvent, WebhookEvent } from '../payload/event.ts'
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
  /** Returns true if events of the change type have a handler. */
  handles(changeType: string): boolean
  /**
   * Runs the handlers of every event, one after another, in the order of registration. If one fails, the others still
   * run; when the signal is aborted, no further handler starts. If all succeed, runs the functions that they passed to
   * `onSuccess`. Warns about change types without a handler.
   *
   * Throws what the failed handler threw; an `AggregateError` if several failed; the abort reason if the signal is
   * aborted.
   */
  dispatch(delivery: Delivery, context?: AttemptContext): Promise<HandleResult>
  /**
   * Like `dispatch`, for several deliveries in one attempt. The handlers run in the order of registration, and each
   * gets the joined events (see `joinEvents`) of all deliveries that it handles.
   *
   * @returns one result per delivery, in their order
   */
  dispatchTogether(deliveries: readonly Delivery[], context?: AttemptContext): Promise<HandleResult[]>
}

/** One call of `on`. */
interface Registration {
  names: readonly string[]
  handler: Handler
}

const isName = (name: unknown): boolean => typeof name === 'string' && name !== ''

export function createDispatcher(): Dispatcher {
  const all: Registration[] = []
  const subscribed = new Set<string>()
  const warnUnhandled = createUnhandledWarning()
  /**
   * Cached registrations, by subscribed change type or wildcard. Change types without a subscription are not
   * cached, so that senders cannot grow the map.
   */
  const found = new Map<string, readonly Registration[]>()

  /** Returns the registrations for a change type. Warns about a change type without registrations. */
  function registrationsOf(changeType: string): readonly Registration[] {
    const name = subscriptionsOf(changeType).find((one) => subscribed.has(one)) ?? WILDCARD
    let registrations = found.get(name)
    if (!registrations) {
      const subscriptions = subscriptionsOf(name)
      const isSubscribed = (subscription: string): boolean => subscriptions.includes(subscription)
      registrations = all.filter(({ names }) => names.some(isSubscribed))
      found.set(name, registrations)
    }
    if (registrations.length === 0) warnUnhandled(changeType, subscribed)
    return registrations
  }

  /** Runs one handler. Collects its error, so that the next handler can run. */
  async function call(
    { handler }: Registration,
    event: WebhookEvent,
    delivery: Delivery,
    context: HandlerContext,
    errors: unknown[],
  ): Promise<void> {
    try {
      await handler(event as never, delivery, context)
    } catch (error) {
      errors.push(error)
    }
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

    handles: (changeType) => subscriptionsOf(changeType).some((name) => subscribed.has(name)),

    async dispatch(delivery, context) {
      const errors: unknown[] = []
      const given = createHandlerContext(context)
      let result: HandleResult = 'unhandled'
      for (const event of delivery.events) {
        for (const registration of registrationsOf(event.changeType)) {
          result = 'handled'
          // After an abort, another attempt may already be running, so start no further handler.
          context?.signal.throwIfAborted()
          await call(registration, event, delivery, given, errors)
        }
      }
      requireNone(errors)
      await given.succeed()
      return result
    },

    async dispatchTogether(deliveries, context) {
      // Loaded on demand: most receivers handle one delivery at a time.
      const { joinEvents } = await import('./join-events.ts')
      const errors: unknown[] = []
      const given = createHandlerContext(context)
      const sorted = [...deliveries].sort((a, b) => a.receivedAt.getTime() - b.receivedAt.getTime())
      const arrived = sorted.flatMap((delivery) =>
        delivery.events.map((event) => {
          const registrations = registrationsOf(event.changeType)
          return { event, delivery, registrations }
        }),
      )
      for (const registration of [...all]) {
        const handled = arrived.filter(({ registrations }) => registrations.includes(registration))
        for (const { event, delivery, together } of joinEvents(handled)) {
          context?.signal.throwIfAborted()
          await call(registration, event, delivery, given.forCall(together), errors)
        }
      }
      requireNone(errors)
      await given.succeed()
      const handled = new Set(
        arrived.flatMap(({ delivery, registrations }) => (registrations.length > 0 ? delivery : [])),
      )
      return deliveries.map((delivery) => (handled.has(delivery) ? 'handled' : 'unhandled'))
    },
  }
}

/** @throws the error, or an `AggregateError` if there are several */
function requireNone(errors: readonly unknown[]): void {
  if (errors.length > 1) throw new AggregateError(errors, 'handlers failed')
  if (errors.length > 0) throw errors[0]
}
