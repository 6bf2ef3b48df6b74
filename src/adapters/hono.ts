import type { Context, MiddlewareHandler } from 'hono'
import { WebhookError } from '../errors.ts'
import type { Delivery } from '../receiver/delivery.ts'
import type { ReceiverOptions } from '../receiver/options.ts'
import { createReceiver, type Receiver } from '../receiver/receiver.ts'
import type { ReadOptions, ReceiverRequest } from '../receiver/request.ts'
import { toReceiverRequest, toResponse } from '../receiver/web.ts'

/** What Hono's context carries behind `webhook()`. */
export interface WebhookEnv<Payload = unknown> {
  Variables: {
    /** The verified delivery. */
    delivery: Delivery<Payload>
  }
}

const HINT =
  'Mount geohook before validators and whatever else calls c.req.json() or c.req.text(). ' +
  'A middleware that must see the body first may call c.req.arrayBuffer(), which keeps the bytes.'

/**
 * The receiver in Hono, on every platform. A receiver with handlers (or an inbox) answers by itself. One without, or
 * plain options, makes a middleware: it refuses what is not verified, sets `delivery` for `c.get()` and `c.var`, and
 * runs what comes next for the rest.
 *
 * @param receiver what `createReceiver` made, or its options
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
  receiver: Pick<Receiver<Payload>, 'receive'> | ReceiverOptions<Payload>,
): MiddlewareHandler<WebhookEnv<Payload>> {
  const { receive } = 'receive' in receiver ? receiver : createReceiver(receiver)

  return async function webhook(c, next) {
    let passedOn: Promise<void> | undefined
    const web = await toReceiverRequest(c.req.raw, { params: c.req.param() }, HINT)
    const request: ReceiverRequest = {
      ...web,
      read: async (options) => (await readKept(c, options)) ?? web.read(options),
      async next(delivery) {
        c.set('delivery', delivery as Delivery<Payload>)
        passedOn = next()
        await passedOn
        if (!c.finalized) throw new Error('the next handler did not answer')
        return c.res.status
      },
    }
    const outcome = await receive(request)
    // Once it is passed on, the response belongs to the next handler, and so does what it throws.
    if (!passedOn) return toResponse(outcome)
    await passedOn // to Hono it resolves with the context, which is no answer
  }
}

/** The bytes that Hono keeps where something has called `c.req.arrayBuffer()`. What it makes out of text is not exact. */
async function readKept({ req }: Context, { limit, onChunk }: ReadOptions): Promise<Uint8Array | undefined> {
  const kept = req.raw.bodyUsed && req.bodyCache.arrayBuffer
  if (!kept) return undefined
  const bytes = await Promise.resolve(kept).then(
    (buffer) => new Uint8Array(buffer),
    (cause: unknown) => Promise.reject(new WebhookError('body_aborted', { cause })),
  )
  if (bytes.length > limit) throw new WebhookError('body_too_large')
  onChunk(bytes)
  return bytes
}
