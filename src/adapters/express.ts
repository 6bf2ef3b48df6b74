import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Delivery } from '../receiver/delivery.ts'
import type { ReceiverOptions } from '../receiver/options.ts'
import type { RequestHead } from '../receiver/request.ts'
import { serve } from './serve-node.ts'
import { type Receiving, toReceiver } from './to-receiver.ts'

declare global {
  namespace Express {
    interface Request {
      /** The verified delivery, behind `webhook()` of geohook. */
      delivery?: Delivery
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
 * What Express 4 and 5 take as a handler, and everything that calls `(req, res, next)`: Connect, Polka, NestJS. Where
 * there is no `next`, there is nobody to pass a delivery on to.
 */
export type Middleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => Promise<void>

const parsers = {
  text: 'express.text()',
  value: 'express.json() or express.urlencoded()',
  hint:
    'Mount geohook before app.use(express.json()), or keep its path out of the parser. If the parser must come first, ' +
    'let it keep the bytes: express.json({ verify: (req, res, bytes) => { req.rawBody = bytes } }), or in NestJS ' +
    'NestFactory.create(App, { rawBody: true }).',
}

/**
 * The receiver in Express, Connect, Polka and NestJS. A receiver with handlers (or an inbox) answers by itself. One
 * without, or plain options, makes a middleware: it refuses what is not verified, sets `req.delivery`, and calls
 * `next()` for the rest.
 *
 * Mount it before any body parser: the signature covers the bytes, and a parser throws them away. In NestJS that is
 * `app.use('/hooks/parcels', webhook(receiver))` right after `NestFactory.create(App)`; with
 * `NestFactory.create(App, { rawBody: true })` its own parser may run first. Bytes in `req.rawBody` or `req.body` are
 * taken as they are.
 *
 * @param receiver what `createReceiver` made, or its options
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
export function webhook(receiver: Receiving | ReceiverOptions): Middleware {
  const { receive } = toReceiver(receiver)

  return function webhook(req: ExpressRequest, res, next) {
    const { originalUrl: url, params } = req
    function passOn(delivery: Delivery): undefined {
      req.delivery = delivery
      req._body = true // body-parser leaves it alone then: there is nothing left to parse
      next?.()
    }
    // Not every host has a third argument, or a function there.
    const canPassOn = typeof next === 'function'
    return serve(receive, { req, res, url, params, parsers, next: canPassOn ? passOn : undefined })
  }
}
