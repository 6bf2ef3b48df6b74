import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { Delivery } from '../receiver/delivery.ts'
import type { ReceiverOptions } from '../receiver/options.ts'
import type { RequestHead } from '../receiver/request.ts'
import { serve } from './serve-node.ts'
import { type Receiving, toReceiver } from './to-receiver.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The verified delivery, in the `handler` of geohook's plugin. */
    delivery?: Delivery
  }
}

/** What `app.register(webhook(receiver), options)` takes beside `prefix`. */
export interface WebhookPluginOptions {
  /**
   * Runs for each verified delivery in `request.delivery`, and answers it, as any handler of Fastify does. For a
   * receiver with neither handlers nor an inbox of its own; `request.body` is empty. Without it, such a receiver verifies
   * and answers 200.
   */
  handler?: ((request: FastifyRequest, reply: FastifyReply) => unknown) | undefined
}

const parsers = {
  text: 'a hook',
  value: 'a hook',
  hint: 'Keep the path of geohook out of onRequest hooks that read request.raw, or let them leave the bytes in request.raw.rawBody.',
}

/**
 * The receiver as a plugin for Fastify 5. It answers every method on the `prefix` it is registered with, and reads the
 * bytes before Fastify looks at them: content type parsers, `bodyLimit` and plugins that read bodies do not matter
 * there, and stay as they are everywhere else.
 *
 * @param receiver what `createReceiver` made, or its options
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import fastify from 'fastify'
 * import { createReceiver } from 'geohook'
 * import { webhook } from 'geohook/fastify'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', console.log)
 * const app = fastify()
 * app.register(webhook(receiver), { prefix: '/hooks/parcels' })
 * app.listen({ port: 3000 })
 * ```
 */
export function webhook(receiver: Receiving | ReceiverOptions): FastifyPluginCallback<WebhookPluginOptions> {
  const { receive } = toReceiver(receiver)

  return function webhook(scope, { handler }, registered) {
    if (!scope.hasRequestDecorator('delivery')) scope.decorateRequest('delivery')
    // What is passed on has been read: nobody may wait for it.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
    scope.all('/', {
      onRequest(request, reply, done) {
        const { raw: req, originalUrl: url } = request
        const params = request.params as RequestHead['params']
        function passOn(delivery: Delivery): undefined {
          request.delivery = delivery
          done()
        }
        serve(receive, {
          req,
          res: reply.raw,
          url,
          params,
          parsers,
          next: handler ? passOn : undefined,
          // As bytes: Fastify adds a charset to the type of a text.
          write: ({ status, headers, body }) => reply.code(status).headers(headers).send(Buffer.from(body)),
        }).catch(done)
      },
      handler: (request, reply) => handler?.(request, reply),
    })
    registered()
  }
}
