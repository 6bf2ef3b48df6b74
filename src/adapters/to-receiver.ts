import { blameCaller, configInvalid } from '../errors.ts'
import { type ReceiverPort, receiverPort } from '../receiver/port.ts'
import { createReceiver } from '../receiver/receiver.ts'
import type { Receiver, ReceiverOptions } from '../receiver/types.ts'

/** Returns the port of a receiver that was passed to `webhook()`, or of one that is created from options. */
export const toReceiver = <Payload>(
  given: Receiver<Payload> | ReceiverOptions<Payload>,
  webhook: (...given: never[]) => unknown,
): ReceiverPort =>
  receiverPort(given as unknown) ??
  receiverPort(blameCaller(webhook, () => createReceiver(given as ReceiverOptions)))

/**
 * The same on platforms without a next handler. There, a receiver from options has nothing that handles deliveries,
 * unless it has an inbox.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function toLastReceiver(
  given: Receiver | ReceiverOptions,
  webhook: (...given: never[]) => unknown,
): ReceiverPort {
  const { inbox } = (given ?? {}) as Partial<ReceiverOptions>
  if (!receiverPort(given as unknown) && !inbox)
    throw configInvalid(
      'webhook(receiver): receiver must be the result of createReceiver(), or options with an inbox',
    )
  return toReceiver(given, webhook)
}
