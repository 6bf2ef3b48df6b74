import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Receiver, ReceiverOptions } from '../receiver/types.ts'
import { preloadRawBody, serve } from './node-http.ts'
import { toLastReceiver } from './to-receiver.ts'

export { keyring } from '../receiver/keyring.node.ts'

const parsers = {
  text: 'express.text()',
  value: 'express.json() or express.urlencoded()',
  hint: 'Pass the request to geohook before other code reads it. Code that must read it first can store the bytes in req.rawBody.',
}

/**
 * Creates a request listener for `node:http` and `node:https`. It also works as an HTTP function for Google Cloud
 * Functions, and responds to every request itself.
 *
 * In Google Cloud Functions, the host reads the body before geohook does, and stores the bytes in `req.rawBody`. The
 * host applies its own limits and rejects bodies that it cannot parse.
 *
 * @param receiver the result of `createReceiver`, or its options with an inbox
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { createReceiver } from 'geohook'
 * import { webhook } from 'geohook/node'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', console.log)
 * createServer(webhook(receiver)).listen(3000)
 * ```
 * @example
 * ```ts
 * import { http } from '@google-cloud/functions-framework'
 * import { createReceiver } from 'geohook'
 * import { webhook } from 'geohook/node'
 *
 * http('parcels', webhook(createReceiver({ signatureKey: 'parcels2026' }).on('*', console.log)))
 * ```
 */
export function webhook(
  receiver: Receiver | ReceiverOptions,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  const { receive } = toLastReceiver(receiver, webhook)
  preloadRawBody()

  return function webhook(req, res) {
    return serve(receive, { req, res, parsers })
  }
}
