import type { IncomingMessage, ServerResponse } from 'node:http'
import { serve } from './serve-node.ts'
import { type Receiving, requireReceiver } from './to-receiver.ts'

export { closeOnSignal, type ShutdownOptions } from './shutdown.ts'

const parsers = {
  text: 'express.text()',
  value: 'express.json() or express.urlencoded()',
  hint: 'Give geohook the request before anything reads it. What must come first has to leave the bytes in req.rawBody.',
}

/**
 * The receiver as a listener for `node:http` and `node:https`, and as an HTTP function of Google Cloud Functions, whose
 * host leaves the bytes in `req.rawBody`. It answers every request itself.
 *
 * The host of a function reads the body before, within limits of its own, and refuses by itself what it cannot parse.
 *
 * @param receiver what `createReceiver` made
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
export function webhook(receiver: Receiving): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  const { receive } = requireReceiver(receiver)

  return function webhook(req, res) {
    return serve(receive, { req, res, parsers })
  }
}
