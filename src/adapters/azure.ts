import type { HttpRequest, HttpResponseInit } from '@azure/functions'
import type { Receiver, ReceiverOptions } from '../receiver/types.ts'
import { toReceiverRequest } from '../receiver/web.ts'
import { toLastReceiver } from './to-receiver.ts'

const HINT = 'Pass the request to geohook before any call of request.json() or request.text().'

/**
 * Creates an HTTP handler for Azure Functions (programming model 4), with or without HTTP streams. The handler responds
 * to every request itself.
 *
 * Senders have no function key, so `authLevel` must be `'anonymous'`: the signature authenticates them. For a profile
 * with a handshake, add `'GET'` to the methods.
 *
 * @param receiver the result of `createReceiver`, or its options with an inbox
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { app } from '@azure/functions'
 * import { createReceiver } from 'geohook'
 * import { webhook } from 'geohook/azure'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', console.log)
 * app.http('parcels', { methods: ['POST'], authLevel: 'anonymous', handler: webhook(receiver) })
 * ```
 */
export function webhook(
  receiver: Receiver | ReceiverOptions,
): (request: HttpRequest) => Promise<HttpResponseInit> {
  const { receive } = toLastReceiver(receiver, webhook)

  return async function webhook(request) {
    // The second argument is the context, from which route parameters are read: Azure stores them in the request's
    // `params`.
    const { status, headers, body } = await receive(await toReceiverRequest(request, request, HINT))
    return { status, headers, body }
  }
}
