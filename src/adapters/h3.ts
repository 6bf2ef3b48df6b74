import type {} from 'h3' // or the module below would not be found
import type { Delivery } from '../receiver/delivery.ts'
import type { ReceiverOptions } from '../receiver/options.ts'
import { type RequestLike, toReceiverRequest, toResponse } from '../receiver/web.ts'
import { type NodeResponse, statusOfNodeResponse } from './node-response.ts'
import { type Receiving, toReceiver } from './to-receiver.ts'

declare module 'h3' {
  interface H3EventContext {
    /** The verified delivery, behind `webhook()` of geohook. */
    delivery?: Delivery
  }
}

/** What geohook needs of an `H3Event`. */
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

/** What h3 takes as an event handler and as a middleware. */
export type WebhookHandler = (event: EventLike, next?: () => unknown) => Promise<unknown>

const HINT = 'Mount geohook before whatever calls readBody(event), event.req.json() or event.req.text().'

/**
 * The receiver in h3. A receiver with handlers (or an inbox) answers by itself. One without, or plain options, makes a
 * middleware: it refuses what is not verified, sets `event.context.delivery`, and runs what comes next for the rest.
 * h3 keeps no bytes, so `readBody(event)` finds none there: `event.context.delivery.payload` is what to read.
 *
 * @param receiver what `createReceiver` made, or its options
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
 * export { app }
 * ```
 */
export function webhook(receiver: Receiving | ReceiverOptions): WebhookHandler {
  const { receive } = toReceiver(receiver)

  // h3 counts the parameters: a middleware has two.
  return async function webhook(event, next) {
    const { context } = event
    let passedOn: Promise<unknown> | undefined
    const params = decode({ ...context.middlewareParams, ...context.params })
    const request = await toReceiverRequest(event.req, { params }, HINT)
    request.next = async (delivery) => {
      if (!next) throw new Error('the receiver has no handlers, and nothing comes next in h3')
      context.delivery = delivery
      passedOn = (async () => next())()
      return statusOf(await passedOn, event)
    }
    const outcome = await receive(request)
    // Once it is passed on, the response belongs to the next handler, and so does what it throws.
    return passedOn ?? toResponse(outcome)
  }
}

/** As Express and Hono hand them over; h3 leaves them as they stand in the path. */
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

/** The status that h3 will make of what a handler returned, where that is not h3's default. It throws what h3 would make an error of. */
function statusOf(result: unknown, { res, runtime }: EventLike): number | undefined | Promise<number> {
  if (result instanceof Error) throw result
  if (result === Symbol.for('h3.notFound')) throw new Error('no handler of h3 has answered')
  // `fromNodeHandler` says so, also of a handler that will answer later.
  if (result === Symbol.for('h3.handled')) return statusOfNodeResponse(runtime?.node?.res)
  const isAnswer =
    result instanceof Response || (result as Record<symbol, unknown> | null | undefined)?.[ANSWER] === true
  const status = isAnswer ? (result as { status?: number }).status : undefined
  return status ?? res.status
}

/** The mark of h3's `HTTPResponse`. Any other object is a body, whatever its members are called. */
const ANSWER = Symbol.for('h3.HTTPResponse')
