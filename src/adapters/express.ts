import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Delivery } from '../receiver/delivery.ts'
import type { ReceiverOptions } from '../receiver/options.ts'
import { createReceiver, type Receiver } from '../receiver/receiver.ts'
import type { ReceiverRequest, RequestHead } from '../receiver/request.ts'
import { toReceiverRequest, whenSent, writeOutcome } from './node-port.ts'

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
}

/** What Express 4 and 5 take as a handler, and everything that calls `(req, res, next)`. */
export type Middleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/**
 * The receiver in Express. A receiver with handlers (or an inbox) answers by itself. One without, or plain options,
 * makes a middleware: it refuses what is not verified, sets `req.delivery`, and calls `next()` for the rest.
 *
 * Mount it before any body parser: the signature covers the bytes, and a parser throws them away.
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
export function webhook(receiver: Pick<Receiver, 'receive'> | ReceiverOptions): Middleware {
  const { receive } = 'receive' in receiver ? receiver : createReceiver(receiver)

  return async function webhook(req: ExpressRequest, res, next) {
    let isPassedOn = false
    const request: ReceiverRequest = {
      ...toReceiverRequest(req),
      url: req.originalUrl ?? req.url ?? '',
      params: req.params,
      next(delivery) {
        req.delivery = delivery
        isPassedOn = true
        const answered = whenSent(req, res)
        answered.catch(() => {}) // should next() throw, nobody waits for it
        next()
        return answered
      },
    }
    // Once it is passed on, the response belongs to the next handler, even where its client has gone.
    await receive(request, (outcome) => (isPassedOn ? undefined : writeOutcome(req, res, outcome)))
  }
}
