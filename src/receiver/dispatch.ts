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

interface Registration {
  order: number
  handler: Handler
}

const isName = (name: unknown): boolean => typeof name === 'string' && name !== ''

export function createDispatcher(): Dispatcher {
  // A Map, because change types come from outside: `constructor` is a name like any other.
  const registrations = new Map<string, Registration[]>()
  let size = 0

  function handlersOf(event: WebhookEvent): Registration[] {
    const matching = subscriptionsOf(event.changeType).flatMap((name) => registrations.get(name) ?? [])
    return [...new Set(matching)].sort((a, b) => a.order - b.order)
  }

  return {
    get size() {
      return size
    },

    add(changeTypes, handler) {
      const names = typeof changeTypes === 'string' ? [changeTypes] : changeTypes
      if (typeof handler !== 'function') throw configInvalid('on() needs a function')
      if (!Array.isArray(names) || names.length === 0 || !names.every(isName)) {
        throw configInvalid('on() needs change types')
      }
      const registration = { order: size++, handler }
      for (const name of names) registrations.set(name, [...(registrations.get(name) ?? []), registration])
    },

    async dispatch(delivery) {
      const errors: unknown[] = []
      for (const event of delivery.events) {
        for (const { handler } of handlersOf(event)) {
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
