import { configInvalid } from '../errors.ts'
import { type ChangeType, type Covered, subscriptionsOf } from '../payload/change-types.ts'
import type { WebhookEvent } from '../payload/event.ts'
import type { Delivery } from './delivery.ts'

/** The user's function for one event. The delivery is answered when its promise settles. */
export type Handler<T extends string = string, Payload = unknown> = (
  event: WebhookEvent<Covered<T>>,
  delivery: Delivery<Payload>,
) => unknown

/** The handlers of a receiver, by change type. */
export interface Dispatcher {
  readonly size: number
  add(changeTypes: ChangeType | readonly ChangeType[], handler: Handler): void
  /**
   * Runs the handlers of every event, one after another, in the order of registration. One that fails does not keep
   * the others from running.
   *
   * @throws {AggregateError} with the error of each handler that failed
   */
  dispatch(delivery: Delivery): Promise<void>
}

const isName = (name: unknown): boolean => typeof name === 'string' && name !== ''

export function createDispatcher(): Dispatcher {
  // Sets of names, because change types come from outside: `constructor` is a name like any other.
  const registrations: { names: Set<string>; handler: Handler }[] = []

  function registeredFor({ changeType }: WebhookEvent): typeof registrations {
    const subscriptions = subscriptionsOf(changeType)
    return registrations.filter(({ names }) => subscriptions.some((name) => names.has(name)))
  }

  return {
    get size() {
      return registrations.length
    },

    add(changeTypes, handler) {
      const names = typeof changeTypes === 'string' ? [changeTypes] : changeTypes
      const areNames = Array.isArray(names) && names.length > 0 && names.every(isName)
      if (!areNames || typeof handler !== 'function')
        throw configInvalid('on() needs change types and a function')
      registrations.push({ names: new Set(names), handler })
    },

    async dispatch(delivery) {
      const errors: unknown[] = []
      for (const event of delivery.events) {
        for (const { handler } of registeredFor(event)) {
          try {
            await handler(event, delivery)
          } catch (error) {
            errors.push(error)
          }
        }
      }
      if (errors.length > 0) throw new AggregateError(errors, 'handlers failed')
    },
  }
}
