import type { IncomingMessage, ServerResponse } from 'node:http'
import type {
  Delivery,
  NextResult,
  Outcome,
  Receiver,
  ReceiverOptions,
  RequestHead,
} from '../receiver/types.ts'
import { preloadRawBody, serve, writeTo } from './node-http.ts'
import { toReceiver } from './to-receiver.ts'

/** The part of Koa's context that geohook uses. */
export interface KoaContext {
  req: IncomingMessage
  res: ServerResponse
  /** Body parsers store the body here. */
  request: object
  originalUrl: string
  /** Route parameters, set by a router. */
  params?: unknown
  state: object
  status: number
  body: unknown
  respond?: boolean | undefined
  disableBodyParser?: boolean | undefined
  /** Sets headers of the response. */
  set(headers: Record<string, string>): void
}

/**
 * The state that `webhook()` sets in Koa's context. Koa cannot infer it from middleware, so declare it where you create
 * the app or the router: `new Koa<WebhookState<Payload>>()`.
 */
export interface WebhookState<Payload = unknown> {
  /** The verified delivery. */
  delivery: Delivery<Payload>
}

/** Middleware for Koa. */
export type KoaMiddleware = <Context extends KoaContext>(
  context: Context,
  next: () => Promise<unknown>,
) => Promise<void>

const parsers = {
  text: 'koa-bodyparser',
  value: 'koa-bodyparser',
  hint:
    'Put app.use(webhook(receiver)) before app.use(bodyParser()), or set ctx.disableBodyParser for its path. ' +
    'ctx.request.rawBody of koa-bodyparser is a string, which cannot be verified; bytes can.',
}

/**
 * Mounts a receiver in Koa 3. A receiver with handlers or an inbox responds itself. A receiver without them, or plain
 * options, acts as middleware: it rejects unverified requests, sets `ctx.state.delivery`, and runs the next middleware.
 *
 * Mount it before any body parser: the signature covers the exact bytes, which a parser discards. The middleware treats
 * every request as a delivery, so restrict it with a router or a condition on `ctx.path`.
 *
 * @param receiver the result of `createReceiver`, or its options
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
export function webhook<Payload = unknown>(
  receiver: Receiver<Payload> | ReceiverOptions<Payload>,
): KoaMiddleware {
  const { receive } = toReceiver(receiver, webhook)
  preloadRawBody()

  return function webhook(ctx, next) {
    const { req, res, originalUrl: url, request: parsed } = ctx
    const params = ctx.params as RequestHead['params']
    // Koa sends the response after all middleware has resolved, so middleware that waits for the response to be sent
    // would deadlock.
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
          ctx.disableBodyParser = true // the body has already been read
          const done = Promise.resolve().then(next)
          done.then(() => resolve(), reject)
          return done.then(
            () => ({ status: ctx.status }),
            (error: unknown) => resultOf(error, ctx),
          )
        },
        write(outcome) {
          write(ctx, outcome)
          resolve()
        },
      }).then(resolve, reject)
    })
  }
}

/**
 * Returns the result of middleware that threw an error, for which Koa will send a response. `ctx.throw()` marks the
 * errors that are meant for the client with `expose`.
 */
function resultOf(error: unknown, { res }: KoaContext): NextResult {
  if (res.headersSent) throw error
  const { expose, status } = (error ?? {}) as { expose?: unknown; status?: unknown }
  return expose === true && typeof status === 'number' ? { status } : { thrown: error }
}

function write(ctx: KoaContext, outcome: Outcome): void {
  if (ctx.respond === false) {
    writeTo(ctx.res, outcome) // with `respond: false`, Koa does not send the response
  } else {
    ctx.status = outcome.status
    ctx.set(outcome.headers)
    ctx.body = outcome.body
  }
}
