import type {} from 'h3' // required by the module augmentation below
import { NOT_FOUND } from '../errors.ts'
import { checkOptions, isFunction, type OptionNames } from '../options.ts'
import { isServerError } from '../receiver/receiver.ts'
import type { Delivery, NextResult, Receiver, ReceiverOptions } from '../receiver/types.ts'
import { type RequestLike, toReceiverRequest, toResponse } from '../receiver/web.ts'
import { type NodeResponse, statusOfNodeResponse } from './node-response.ts'
import { toReceiver } from './to-receiver.ts'

declare module 'h3' {
  interface H3EventContext {
    /** The verified delivery, set by geohook's `webhook()`. */
    delivery?: Delivery
  }
}

/** The part of an `H3Event` that geohook uses. */
export interface EventLike {
  readonly req: RequestLike
  readonly res: { readonly status?: number | undefined }
  readonly runtime?: { readonly node?: { readonly res?: NodeResponse } } | undefined
  readonly context: {
    params?: Record<string, string>
    middlewareParams?: Record<string, string>
    delivery?: Delivery
  }
}

/** An event whose delivery is verified. h3 passes its own event, so a handler may use it as an `H3Event`. */
export type VerifiedEvent<Payload = unknown> = EventLike & { context: { delivery: Delivery<Payload> } }

/** Options of `webhook(receiver, options)`. */
export interface WebhookHandlerOptions<Payload = unknown> {
  /**
   * Runs in place of the next handler, with the type of the payload in `event.context.delivery`. Used only if the
   * receiver has neither handlers nor an inbox. Default: the next handler of h3, if there is one.
   */
  handler?(event: VerifiedEvent<Payload>): unknown
}

const OPTIONS: OptionNames<WebhookHandlerOptions> = { handler: isFunction }

/** An event handler and middleware for h3. */
export type WebhookHandler = (event: EventLike, next?: () => unknown) => Promise<unknown>

const HINT = 'Mount geohook before code that calls readBody(event), event.req.json() or event.req.text().'

/**
 * Mounts a receiver in h3. A receiver with handlers or an inbox responds itself. A receiver without them, or plain
 * options, acts as middleware: it rejects unverified requests, sets `event.context.delivery`, and runs the next
 * handler. That handler must read `event.context.delivery.payload`: `readBody(event)` rejects, because h3 does
 * not keep the bytes.
 *
 * @param receiver the result of `createReceiver`, or its options
 * @param options the handler; h3 cannot pass the type of the payload from middleware to a handler of its own
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { webhook } from 'geohook/h3'
 * import { H3 } from 'h3'
 *
 * const app = new H3()
 * app.post('/hooks/parcels', (event) => event.context.delivery?.changeTypes, {
 *   middleware: [webhook({ signatureKey: 'parcels2026' })],
 * })
 * app.post('/hooks/roads', webhook({ signatureKey: 'roads2026' }, { handler: (event) => event.context.delivery.id }))
 * export { app }
 * ```
 */
export function webhook<Payload = unknown>(
  receiver: Receiver<Payload> | ReceiverOptions<Payload>,
  options: WebhookHandlerOptions<Payload> = {},
): WebhookHandler {
  const { receive } = toReceiver(receiver, webhook)
  const { handler } = checkOptions<WebhookHandlerOptions<Payload>>(options, OPTIONS)

  // h3 recognizes middleware by its two parameters.
  return async function webhook(event, next) {
    const { context } = event
    let passedOn: Promise<unknown> | undefined
    const params = decode({ ...context.middlewareParams, ...context.params })
    const request = await toReceiverRequest(event.req, { params }, HINT)
    const run = handler ? () => handler(event as VerifiedEvent<Payload>) : next
    request.next =
      run &&
      ((delivery) => {
        context.delivery = delivery
        passedOn = (async () => run())()
        return resultOf(passedOn, event)
      })
    const outcome = await receive(request)
    // If the next handler ran, its response or error replaces the receiver's response.
    return passedOn ?? toResponse(outcome)
  }
}

/** Percent-decodes route parameters. Express and Hono do this themselves; h3 does not. */
function decode(params: Record<string, string>): Record<string, string> {
  const decoded = Object.entries(params).map(([name, value]) => {
    try {
      return [name, decodeURIComponent(value)]
    } catch {
      return [name, value]
    }
  })
  return Object.fromEntries(decoded)
}

/** Returns the result of the next handler. An `HTTPError` is a response, whether the handler threw or returned it. */
async function resultOf(responding: Promise<unknown>, event: EventLike): Promise<NextResult> {
  try {
    return { status: await statusOf(await responding, event) }
  } catch (thrown) {
    const { name, status, unhandled } = (thrown ?? {}) as Record<string, unknown>
    if (name !== 'HTTPError' || typeof status !== 'number' || unhandled) throw thrown
    return { status, thrown: isServerError(status) ? thrown : undefined }
  }
}

/**
 * Returns the status that h3 will send for a handler's result, or undefined for h3's default status. If the result is
 * an error, throws it.
 */
function statusOf(result: unknown, { res, runtime }: EventLike): number | undefined | Promise<number> {
  if (result instanceof Error) throw result
  if (result === Symbol.for('h3.notFound')) return NOT_FOUND
  // `fromNodeHandler` returns this symbol, possibly before its handler has responded.
  if (result === Symbol.for('h3.handled')) return statusOfNodeResponse(runtime?.node?.res)
  const isResponse =
    result instanceof Response ||
    (result as Record<symbol, unknown> | null | undefined)?.[H3_RESPONSE] === true
  const status = isResponse ? (result as { status?: number }).status : undefined
  return status ?? res.status
}

/** Identifies h3's `HTTPResponse`. h3 sends any other object as the body, even if it has a `status`. */
const H3_RESPONSE = Symbol.for('h3.HTTPResponse')
