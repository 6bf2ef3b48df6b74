import type { Context, Env, Input, MiddlewareHandler, Next } from 'hono'
import { WebhookError } from '../errors.ts'
import { isServerError } from '../receiver/receiver.ts'
import type { Delivery, NextResult, ReadOptions, Receiver, ReceiverOptions } from '../receiver/types.ts'
import { toReceiverRequest, toResponse } from '../receiver/web.ts'
import { type NodeResponse, statusOfNodeResponse } from './node-response.ts'
import { toReceiver } from './to-receiver.ts'

/** The variables that `webhook()` sets in Hono's context. */
export interface WebhookEnv<Payload = unknown> {
  Variables: {
    /** The verified delivery. */
    delivery: Delivery<Payload>
  }
}

/**
 * Middleware for apps of every environment type, for example one that declares the signature key in `c.env`. Hono
 * infers the type of `c.get('delivery')` from the last call signature.
 */
export type WebhookMiddleware<Payload = unknown> = (<E extends Env, P extends string, I extends Input>(
  c: Context<E, P, I>,
  next: Next,
) => Promise<Response | undefined>) &
  MiddlewareHandler<WebhookEnv<Payload>>

const HINT =
  'Mount geohook before validators and other code that calls c.req.json() or c.req.text(). ' +
  'Middleware that must read the body first can call c.req.arrayBuffer(), which keeps the bytes.'

/**
 * Mounts a receiver in Hono on any platform. A receiver with handlers or an inbox responds itself. A receiver without
 * them, or plain options, acts as middleware: it rejects unverified requests, sets `delivery` for `c.get()` and
 * `c.var`, and runs the next handler, where `c.req.json()`, `c.req.parseBody()` and validators read the verified bytes.
 *
 * @param receiver the result of `createReceiver`, or its options
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { webhook } from 'geohook/hono'
 * import { Hono } from 'hono'
 *
 * const app = new Hono()
 * app.post('/hooks/parcels', webhook({ signatureKey: 'parcels2026' }), (c) => c.json(c.get('delivery').changeTypes))
 * export { app }
 * ```
 */
export function webhook<Payload = unknown>(
  receiver: Receiver<Payload> | ReceiverOptions<Payload>,
): WebhookMiddleware<Payload> {
  const { receive } = toReceiver(receiver, webhook)

  return async function webhook(c: Context, next: Next): Promise<Response | undefined> {
    let passedOn: Promise<void> | undefined
    const { incoming, outgoing } = (c.env ?? {}) as Record<string, unknown>
    const context = { params: c.req.param(), incoming, outgoing }
    const request = await toReceiverRequest(c.req.raw, context, HINT, c.env)
    const { read } = request
    request.read = (options) => readKept(c, options) ?? read(options)
    request.next = async (delivery) => {
      c.set('delivery', delivery)
      keep(c, delivery)
      passedOn = next()
      await passedOn
      if (!c.finalized) throw new Error('the next handler did not respond')
      return resultOf(c)
    }
    const outcome = await receive(request)
    // If the next handler ran, its response or error replaces the receiver's response.
    if (!passedOn) return toResponse(outcome)
    await passedOn // not returned: it resolves with Hono's context, not with a response
    return undefined
  }
}

/**
 * Returns the bytes that Hono cached when other code called `c.req.arrayBuffer()`. If it called `c.req.text()` instead,
 * the exact bytes are lost.
 */
function readKept({ req }: Context, { onChunk }: ReadOptions): Promise<Uint8Array> | undefined {
  const kept = req.raw.bodyUsed && req.bodyCache.arrayBuffer
  if (!kept) return undefined
  return Promise.resolve(kept).then(
    (buffer) => {
      const bytes = new Uint8Array(buffer)
      onChunk(bytes)
      return bytes
    },
    (cause: unknown) => Promise.reject(new WebhookError('body_aborted', { cause })),
  )
}

/** Caches a copy of the body for the next handlers, which may modify it. */
function keep({ req }: Context, { rawBody }: Delivery): void {
  // Hono stores promises in this cache, although its types say otherwise.
  const cache: { arrayBuffer?: unknown } = req.bodyCache
  cache.arrayBuffer ??= Promise.resolve(new Uint8Array(rawBody).buffer)
}

/** Returns the result of the next handler. Hono has turned an error that it threw into the response. */
async function resultOf(c: Context): Promise<NextResult> {
  const status = await statusOf(c)
  return { status, thrown: isServerError(status) ? c.error : undefined }
}

/**
 * Returns the response status: from `c.res`, or from Node's response if a handler wrote directly to Node's response
 * (@hono/node-server).
 */
function statusOf({ res, env }: Context): number | Promise<number> {
  if (!res.headers.has('x-hono-already-sent')) return res.status
  return statusOfNodeResponse((env as { outgoing?: NodeResponse } | undefined)?.outgoing)
}
