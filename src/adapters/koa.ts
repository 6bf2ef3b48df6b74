import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ReceiverOptions } from '../receiver/options.ts'
import type { Outcome } from '../receiver/outcome.ts'
import type { RequestHead } from '../receiver/request.ts'
import { serve, writeTo } from './serve-node.ts'
import { type Receiving, toReceiver } from './to-receiver.ts'

/** What geohook uses of Koa's context. */
export interface KoaContext {
  req: IncomingMessage
  res: ServerResponse
  /** Where body parsers leave what they have read. */
  request: object
  originalUrl: string
  /** From a router. */
  params?: unknown
  state: object
  status: number
  body: unknown
  respond?: boolean | undefined
  disableBodyParser?: boolean | undefined
  set(headers: Record<string, string>): void
}

/** What Koa takes as a middleware. */
export type KoaMiddleware = <Context extends KoaContext>(
  context: Context,
  next: () => Promise<unknown>,
) => Promise<void>

const parsers = {
  text: 'koa-bodyparser',
  value: 'koa-bodyparser',
  hint:
    'Put app.use(webhook(receiver)) before app.use(bodyParser()), or set ctx.disableBodyParser for its path. ' +
    'ctx.request.rawBody of koa-bodyparser is a text; only bytes in it can be verified.',
}

/**
 * The receiver in Koa 3. A receiver with handlers (or an inbox) answers by itself. One without, or plain options, makes
 * a middleware: it refuses what is not verified, sets `ctx.state.delivery`, and runs the next middleware for the rest.
 *
 * Mount it before any body parser: the signature covers the bytes, and a parser throws them away. It answers every
 * request that reaches it, so put it behind a router or a condition on `ctx.path`.
 *
 * @param receiver what `createReceiver` made, or its options
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import Koa from 'koa'
 * import { createReceiver } from 'geohook'
 * import { webhook } from 'geohook/koa'
 *
 * const hook = webhook(createReceiver({ signatureKey: 'parcels2026' }).on('*', console.log))
 * const app = new Koa()
 * app.use((ctx, next) => (ctx.path === '/hooks/parcels' ? hook(ctx, next) : next()))
 * app.listen(3000)
 * ```
 */
export function webhook(receiver: Receiving | ReceiverOptions): KoaMiddleware {
  const { receive } = toReceiver(receiver)

  return function webhook(ctx, next) {
    const { req, res, originalUrl: url, request: parsed } = ctx
    const params = ctx.params as RequestHead['params']
    // Koa sends the answer when all middleware is done, so this one must not wait until it is sent.
    return new Promise((resolve, reject) => {
      serve(receive, {
        req,
        res,
        url,
        params,
        parsed,
        parsers,
        async next(delivery) {
          Object.assign(ctx.state, { delivery })
          ctx.disableBodyParser = true // there is nothing left to parse
          const done = Promise.resolve().then(next)
          done.then(() => resolve(), reject)
          await done
          return ctx.status
        },
        write(outcome) {
          write(ctx, outcome)
          resolve()
        },
      }).then(resolve, reject)
    })
  }
}

function write(ctx: KoaContext, outcome: Outcome): void {
  if (ctx.respond === false) {
    // Somebody has told Koa to leave the response alone.
    writeTo(ctx.res, outcome)
  } else {
    ctx.status = outcome.status
    ctx.set(outcome.headers)
    ctx.body = outcome.body
  }
}
