import type { HttpRequest, HttpResponseInit } from '@azure/functions'
import { toReceiverRequest } from '../receiver/web.ts'
import { type Receiving, requireReceiver } from './to-receiver.ts'

const HINT = 'Hand geohook the request before anything calls request.json() or request.text().'

/**
 * The receiver as an HTTP handler of Azure Functions (programming model 4), with and without HTTP streams. It answers
 * every request itself.
 *
 * Senders have no function key, so `authLevel` must be `'anonymous'`: the signature is what they are known by. A
 * profile with a handshake needs `'GET'` among the methods.
 *
 * @param receiver what `createReceiver` made
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
export function webhook(receiver: Receiving): (request: HttpRequest) => Promise<HttpResponseInit> {
  const { receive } = requireReceiver(receiver)

  return async function webhook(request) {
    // The request has the route parameters itself.
    const { status, headers, body } = await receive(await toReceiverRequest(request, request, HINT))
    return { status, headers, body }
  }
}
