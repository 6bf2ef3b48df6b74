import { configInvalid } from '../errors.ts'
import type { Receiver } from '../receiver/api.ts'
import type { ReceiverOptions } from '../receiver/options.ts'
import { createReceiver } from '../receiver/receiver.ts'

/** What an adapter needs of a receiver. */
export type Receiving = Pick<Receiver, 'receive'>

/** What `webhook()` was given where deliveries can be passed on: a receiver, or options for one. */
export function toReceiver(given: Receiving | ReceiverOptions): Receiving {
  return isReceiver(given) ? given : createReceiver(given)
}

/**
 * What `webhook()` was given where nothing comes next: plain options would make a receiver that handles nothing.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireReceiver(given: Receiving): Receiving {
  if (isReceiver(given)) return given
  throw configInvalid('webhook() needs what createReceiver() made')
}

function isReceiver(given: unknown): given is Receiving {
  return typeof (given as Partial<Receiving> | null | undefined)?.receive === 'function'
}
