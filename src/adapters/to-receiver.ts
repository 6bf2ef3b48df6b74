import { blameCaller } from '../errors.ts'
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
