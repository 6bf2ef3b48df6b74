import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { webhook } from '../../adapters/node.ts'
import {
  type Delivery,
  type HeaderBag,
  type Observer,
  type Outcome,
  type Receiver,
  type ReceiverRequest,
  WebhookError,
} from '../../index.ts'
import { type HeaderPairs, toPairs } from '../io/http.ts'
import { type ForwardResult, forward, toBadGateway, writeForwarded } from './forward.ts'

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
}

/** Accepted deliveries by the headers object of their request. Needed because outcomes do not contain deliveries. */
export type AcceptedDeliveries = WeakMap<HeaderBag, Delivery>

/** Creates an observer that stores accepted deliveries and keeps the receiver from logging refusals and failures. */
export const storeAcceptedIn = (deliveries: AcceptedDeliveries): Observer => ({
  accepted: ({ delivery, request }) => deliveries.set(request.headers, delivery),
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
  forwardTo?: URL | undefined
  forwardRefused?: boolean | undefined
  /** Aborts requests that are being forwarded. */
  signal: AbortSignal
  /** Called for each request after its response has been sent. */
  onRequest(request: ReceivedRequest): void
  /** Called for each request to a path other than `path`. */
  onUnknownPath(url: string): void
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
      options.onUnknownPath(url)
      return
    }
    const head = { receivedAt: new Date(), method, url, headers: toPairs(req.rawHeaders) }
    await webhook({
      async receive(request, respond) {
        const body = await readBody(request, options.limit)
        const received = body instanceof WebhookError ? head : { ...head, body }
        let forwarded: ForwardResult | undefined
        let status = 0
        const outcome = await options.receiver.receive(
          { ...request, read: async ({ onChunk }) => readAgain(body, onChunk) },
          async (outcome) => {
            forwarded = await forwardIfWanted(outcome, received, options)
            status = await sendResponse(outcome, forwarded, res, respond)
          },
        )
        const delivery = options.accepted.get(request.headers)
        options.onRequest({
          ...received,
          outcome,
          delivery,
          status,
          ...(forwarded ? { forwarded } : {}),
        })
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

/** Forwards handled deliveries and, with `forwardRefused`, refused requests. Never forwards handshakes. */
async function forwardIfWanted(
  { kind }: Outcome,
  { method, headers, body }: Pick<ReceivedRequest, 'method' | 'headers' | 'body'>,
  { forwardTo, forwardRefused, signal }: ListenerOptions,
): Promise<ForwardResult | undefined> {
  const isWanted = kind === 'handled' || (kind === 'refused' && forwardRefused === true)
  return forwardTo && body && isWanted ? forward(forwardTo, { method, headers, body }, signal) : undefined
}

/** Sends the response. @returns the status that the sender receives */
async function sendResponse(
  outcome: Outcome,
  forwarded: ForwardResult | undefined,
  res: ServerResponse,
  respond: ((outcome: Outcome) => unknown) | undefined,
): Promise<number> {
  if (forwarded && 'response' in forwarded) {
    await writeForwarded(res, forwarded.response)
    return forwarded.response.status
  }
  const final = forwarded ? toBadGateway(outcome) : outcome
  await respond?.(final)
  return final.status
}
