import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { webhook } from '../../adapters/node.ts'
import {
  type Delivery,
  type Observer,
  type Outcome,
  type Receiver,
  type ReceiverRequest,
  WebhookError,
} from '../../index.ts'
import { type HeaderPairs, toPairs } from '../io/http.ts'
import { type Answer, answerAfterDelay } from './answer.ts'
import { type ForwardResult, type ForwardTarget, forward, toBadGateway, writeForwarded } from './forward.ts'

/** A request, its outcome and its response status. */
export interface ReceivedRequest {
  receivedAt: Date
  method: string
  /** Path and query. */
  url: string
  headers: HeaderPairs
  /** Undefined if the body could not be read completely. */
  body?: Uint8Array
  outcome: Outcome
  /** Undefined if the receiver did not accept the request as a delivery. */
  delivery?: Delivery | undefined
  /** The status that the sender received. */
  status: number
  forwarded?: ForwardResult
  /** True if the sender closed the connection before the response of `--answer`. */
  disconnected?: boolean
}

/** A request to a path other than the one that `--path` gives. */
export type OtherPathRequest = Pick<ReceivedRequest, 'receivedAt' | 'method' | 'url'>

/** Accepted deliveries by the bytes of their body. Needed because outcomes do not contain deliveries. */
export type AcceptedDeliveries = WeakMap<Uint8Array, Delivery>

/** Creates an observer that stores accepted deliveries and keeps the receiver from logging refusals and failures. */
export const storeAcceptedIn = (deliveries: AcceptedDeliveries): Observer => ({
  accepted: ({ delivery }) => deliveries.set(delivery.rawBody, delivery),
  refused() {},
  failed() {},
})

export interface ListenerOptions {
  receiver: Receiver
  /** The map that the receiver's observer fills. */
  accepted: AcceptedDeliveries
  /** Maximum body size in bytes. */
  limit: number
  /** The only path to accept; other paths get 404. Default: every path is accepted. */
  path?: string | undefined
  /** Returns false for a delivery that gets a response but is not forwarded or reported, and gets no `answer`. */
  isSelected(delivery: Delivery): boolean
  forwardTo?: ForwardTarget | undefined
  forwardRefused?: boolean | undefined
  /** The response to verified deliveries. Default: that of the receiver, or of the target. */
  answer?: Answer | undefined
  /** Ends the delays of `answer` when the listener begins to stop. */
  stopping: AbortSignal
  /** Aborts requests that are being forwarded. */
  signal: AbortSignal
  /** Called for each selected delivery and each other request, after its response has been sent. */
  onRequest(request: ReceivedRequest): void
  onOtherPath(request: OtherPathRequest): void
}

/** Timeout in milliseconds for reading the whole body. */
const BODY_TIMEOUT = 10_000

/**
 * Wraps a receiver in a request listener that reads the body first: explaining, saving and forwarding need the complete
 * body, but a receiver may refuse a request without reading it.
 */
export function createRequestListener(
  options: ListenerOptions,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  return async function requestListener(req, res) {
    const { method = '', url = '' } = req
    if (options.path !== undefined && url.split('?')[0] !== options.path) {
      respondNotFound(req, res)
      options.onOtherPath({ receivedAt: new Date(), method, url })
      return
    }
    const head = { receivedAt: new Date(), method, url, headers: toPairs(req.rawHeaders) }
    await webhook({
      async receive(request, respond) {
        const body = await readBody(request, options.limit)
        const received = body instanceof WebhookError ? head : { ...head, body }
        let result: Result = { status: 0 }
        let isReported = true
        let delivery: Delivery | undefined
        const outcome = await options.receiver.receive(
          { ...request, read: async ({ onChunk }) => readAgain(body, onChunk) },
          async (outcome) => {
            delivery = body instanceof WebhookError ? undefined : options.accepted.get(body)
            isReported = !delivery || options.isSelected(delivery)
            if (isReported)
              result = await respondTo({ ...received, outcome, delivery }, options, res, respond)
            else await respond?.(outcome)
          },
        )
        if (isReported) options.onRequest({ ...received, outcome, delivery, ...result })
        return outcome
      },
    })(req, res)
  }
}

function respondNotFound(req: IncomingMessage, res: ServerResponse): void {
  req.resume()
  res.writeHead(404, { 'content-type': 'application/problem+json', connection: 'close' })
  res.end('{"title":"Not found","status":404,"code":"path_unknown"}')
}

async function readBody(request: ReceiverRequest, limit: number): Promise<Uint8Array | WebhookError> {
  // Refuses a body whose content-length exceeds the limit, without reading it.
  const declared = (request.headers as IncomingHttpHeaders)['content-length']
  if (Number(declared) > limit) return new WebhookError('body_too_large')
  const { promise: timeout, cancel } = rejectAfter(BODY_TIMEOUT)
  try {
    return await Promise.race([request.read({ limit, onChunk() {} }), timeout])
  } catch (error) {
    return error instanceof WebhookError ? error : new WebhookError('body_aborted', { cause: error })
  } finally {
    cancel()
  }
}

function rejectAfter(milliseconds: number): { promise: Promise<never>; cancel(): void } {
  let timer: NodeJS.Timeout | undefined
  const promise = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new WebhookError('body_timeout')), milliseconds)
  })
  return { promise, cancel: () => clearTimeout(timer) }
}

/** Passes the buffered body to the receiver, or throws the error that occurred when it was read. */
function readAgain(body: Uint8Array | WebhookError, onChunk: (chunk: Uint8Array) => void): Uint8Array {
  if (body instanceof WebhookError) throw body
  onChunk(body)
  return body
}

type Result = Pick<ReceivedRequest, 'status' | 'forwarded' | 'disconnected'>

/**
 * Sends the response of `--answer`, of the target, or of the receiver. Forwards verified deliveries and, with
 * `forwardRefused`, refused requests, but never handshakes.
 */
async function respondTo(
  { method, headers, body, outcome, delivery }: Omit<ReceivedRequest, 'status'>,
  { forwardTo, forwardRefused, answer, stopping, signal }: ListenerOptions,
  res: ServerResponse,
  respond: ((outcome: Outcome) => unknown) | undefined,
): Promise<Result> {
  if (delivery && answer) return answerAfterDelay(res, answer, stopping)
  const isForwarded = delivery !== undefined || (outcome.kind === 'refused' && forwardRefused === true)
  if (!forwardTo || !body || !isForwarded) {
    await respond?.(outcome)
    return { status: outcome.status }
  }
  const forwarded = await forward(forwardTo, { method, headers, body }, signal)
  if ('response' in forwarded) {
    await writeForwarded(res, forwarded.response)
    return { status: forwarded.response.status, forwarded }
  }
  const badGateway = toBadGateway(outcome)
  await respond?.(badGateway)
  return { status: badGateway.status, forwarded }
}
