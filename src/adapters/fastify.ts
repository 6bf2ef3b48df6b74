import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { configInvalid, type WebhookError } from '../errors.ts'
import { nearest } from '../options.ts'
import type { Delivery, Receiver, ReceiverOptions, RequestHead } from '../receiver/types.ts'
import { preloadRawBody, serve } from './node-http.ts'
import { toReceiver } from './to-receiver.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The verified delivery, set by geohook's plugin. Its `handler` option knows the type of the payload. */
    delivery?: Delivery
  }
}

/** A request whose delivery is verified. */
export type WebhookRequest<Payload = unknown> = FastifyRequest & { delivery: Delivery<Payload> }

/** Options of `app.register(webhook(receiver), options)`, in addition to `prefix`. */
export interface WebhookPluginOptions<Payload = unknown> {
  /**
   * The route handler, which sends the response. It reads the verified delivery from `request.delivery`; `request.body`
   * is empty. Used only if the receiver has neither handlers nor an inbox. Default: responds with 200.
   */
  handler?: ((request: WebhookRequest<Payload>, reply: FastifyReply) => unknown) | undefined
}

const parsers = {
  text: 'a hook',
  value: 'a hook',
  hint: 'Exclude the path of geohook from onRequest hooks that read request.raw, or store the bytes in request.raw.rawBody.',
}

/**
 * Mounts a receiver in Fastify 5, as a plugin that handles every method on its `prefix`. It reads the body before
 * Fastify does, so content type parsers, `bodyLimit` and plugins that read bodies have no effect under that prefix.
 * Other routes are not affected.
 *
 * @param receiver the result of `createReceiver`, or its options
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
export function webhook<Payload = unknown>(
  receiver: Receiver<Payload> | ReceiverOptions<Payload>,
): FastifyPluginCallback<WebhookPluginOptions<Payload>> {
  const { receive } = toReceiver(receiver, webhook)
  preloadRawBody()

  return function webhook(scope, options, registered) {
    const { handler } = options
    const error = findMistake(options)
    if (error) return registered(error)
    if (!scope.hasRequestDecorator('delivery')) scope.decorateRequest('delivery')
    // The adapter reads the body before Fastify's parsers run, so the parsers must not wait for the body.
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
          // Sends a Buffer, because Fastify adds a charset to the content-type of a string body.
          write: ({ status, headers, body }) => reply.code(status).headers(headers).send(Buffer.from(body)),
        }).catch(done)
      },
      handler: (request, reply) => handler?.(request as WebhookRequest<Payload>, reply),
    })
    registered()
  }
}

/** Fastify adds options of its own, so only names that are nearly `handler` are refused. */
function findMistake(options: object): WebhookError | undefined {
  const { handler } = options as { handler?: unknown }
  if (handler !== undefined && typeof handler !== 'function')
    return configInvalid('handler must be a function')
  const misspelt = Object.keys(options).find((name) => name !== 'handler' && nearest(name, ['handler']))
  return misspelt === undefined
    ? undefined
    : configInvalid(`unknown option ${misspelt}: did you mean handler?`)
}
