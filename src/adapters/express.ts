import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Delivery, Receiver, ReceiverOptions, RequestHead } from '../receiver/types.ts'
import { preloadRawBody, serve } from './node-http.ts'
import { toReceiver } from './to-receiver.ts'

/**
 * The name under which the types of a route carry the payload's type from `webhook()` to the handlers. It is never set.
 * It is a well-known symbol, so that the declarations of the ESM and the CommonJS build are identical.
 */
type PayloadType = typeof Symbol.species

/** The type parameter `LocalsObj` of a route with `webhook()`. */
export type WebhookLocals<Payload> = Locals & { [Name in PayloadType]?: Payload }

// biome-ignore lint/suspicious/noExplicitAny: Express itself gives `res.locals` this type.
type Locals = Record<string, any>

/** The type of the payload in `req.delivery`, from the type of the request: its member `res` has the `LocalsObj`. */
export type PayloadOf<Request> = OrUnknown<Member<Member<Member<Request, 'res'>, 'locals'>, PayloadType>>

/** An index, because TypeScript takes conditional types with `Type[Name]` of two builds for different types. */
type Member<Type, Name extends PropertyKey> = Exclude<Type[Name & keyof Type], undefined>
/** Without the middleware, the member is `never` or `any`. */
type OrUnknown<Type> = 0 extends 1 & Type ? unknown : [Type] extends [never] ? unknown : Type

declare global {
  namespace Express {
    interface Request {
      /** The verified delivery, set by geohook's `webhook()`. */
      delivery?: Delivery<PayloadOf<this>>
    }
  }
}

type ExpressRequest = IncomingMessage & {
  originalUrl?: string
  params?: NonNullable<RequestHead['params']>
  delivery?: Delivery
  _body?: boolean
}

/**
 * Middleware for Express 4 and 5, Connect, Polka, NestJS and other frameworks that call `(req, res, next)`. Some
 * hosts call it without `next`.
 */
export type Middleware<Payload = unknown> = (
  req: IncomingMessage,
  res: ServerResponse & { locals?: WebhookLocals<Payload> },
  next?: (error?: unknown) => void,
) => Promise<void>

const parsers = {
  text: 'express.text()',
  value: 'express.json() or express.urlencoded()',
  hint:
    'Mount geohook before app.use(express.json()), or exclude its path from the parser. If the parser must run first, ' +
    'keep the bytes: express.json({ verify: (req, res, bytes) => { req.rawBody = bytes } }), or in NestJS ' +
    'NestFactory.create(App, { rawBody: true }).',
}

/**
 * Mounts a receiver in Express, Connect, Polka and NestJS, and in Fastify with `@fastify/middie`. A receiver with
 * handlers or an inbox responds itself. A receiver without them, or plain options, acts as middleware: it rejects
 * unverified requests, sets `req.delivery`, and calls `next()`.
 *
 * Mount it before any body parser: the signature covers the exact bytes, which a parser discards. In NestJS, call
 * `app.use('/hooks/parcels', webhook(receiver))` right after `NestFactory.create(App)`. A body parser may run first
 * only if it stores the exact bytes in `req.rawBody` or `req.body`. In NestJS, the option `rawBody: true` does this.
 *
 * @param receiver the result of `createReceiver`, or its options
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import express from 'express'
 * import { webhook } from 'geohook/express'
 *
 * const app = express()
 * app.post('/hooks/parcels', webhook({ signatureKey: 'parcels2026' }), (req, res) => {
 *   res.json(req.delivery?.changeTypes)
 * })
 * app.listen(3000)
 * ```
 */
export function webhook<Payload = unknown>(
  receiver: Receiver<Payload> | ReceiverOptions<Payload>,
): Middleware<Payload> {
  const { receive } = toReceiver(receiver, webhook)
  preloadRawBody()

  return function webhook(req: ExpressRequest, res, next) {
    const { originalUrl: url, params } = req
    function passOn(delivery: Delivery): undefined {
      req.delivery = delivery
      req._body = true // makes body-parser skip this request: its body has already been read
      next?.()
    }
    const hasNext = typeof next === 'function' // some hosts pass no `next`, or another value
    return serve(receive, { req, res, url, params, parsers, next: hasNext ? passOn : undefined })
  }
}
