import { blameCaller, configInvalid } from '../errors.ts'
import { createReceiver } from '../receiver/receiver.ts'
import type { Receiver, ReceiverOptions } from '../receiver/types.ts'

/** The part of a receiver that adapters use. */
export type Receiving = Pick<Receiver, 'receive'>

/**
 * Returns a receiver that was passed to `webhook()`, or creates one from options.
 *
 * @param webhook the adapter's function, which the user called
 */
export function toReceiver<Payload>(
  given: Receiving | ReceiverOptions<Payload>,
  webhook: (...given: never[]) => unknown,
): Receiving {
  return isReceiver(given) ? given : blameCaller(webhook, () => createReceiver(given))
}

/**
 * Returns the receiver that was passed to `webhook()`, on platforms without a next handler. Rejects plain options,
 * because a receiver created from options has no handlers either, so nothing would handle its deliveries.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireReceiver(given: Receiving): Receiving {
  if (isReceiver(given)) return given
  throw configInvalid('webhook(receiver): receiver must be the result of createReceiver()')
}

function isReceiver(given: unknown): given is Receiving {
  return typeof (given as Partial<Receiving> | null | undefined)?.receive === 'function'
}
