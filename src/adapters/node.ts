import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Receiver } from '../receiver/receiver.ts'
import { toReceiverRequest, writeOutcome } from './node-port.ts'

/**
 * The receiver as a listener for `node:http` and `node:https`. It answers every request itself.
 *
 * @param receiver what `createReceiver` made
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { createReceiver } from 'geohook'
 * import { webhook } from 'geohook/node'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', console.log)
 * createServer(webhook(receiver)).listen(3000)
 * ```
 */
export function webhook(
  receiver: Pick<Receiver, 'receive'>,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  return async function webhook(req, res) {
    await receiver.receive(toReceiverRequest(req), (outcome) => writeOutcome(req, res, outcome))
  }
}
