import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { webhook } from '../../adapters/node.ts'
import { type Delivery, type Observer, type Outcome, type Receiver, WebhookError } from '../../index.ts'
import { RECEIVER_PORT, type ReceiverPort, receiverPort } from '../../receiver/port.ts'
import { endToEnd, type HeaderPairs, pairRaw } from '../../shared/headers.ts'
import type { HttpRequest, HttpResponse } from '../../shared/http.node.ts'
import { isLoopback } from '../../shared/loopback.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import { toCliError } from '../errors.ts'
import { sendRequest } from '../io/http.ts'

export interface ReceivedRequest {
  receivedAt: Date
  method: string
  url: string
  headers: HeaderPairs
  /** Undefined if the body could not be read completely. */
  body?: Uint8Array
  outcome: Outcome
  /** Undefined if the receiver did not accept the request as a delivery. */
  delivery?: Delivery | undefined
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

interface ListenerOptions {
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
    const head = { receivedAt: new Date(), method, url, headers: pairRaw(req.rawHeaders) }
    const port: Pick<ReceiverPort, 'receive'> = {
      async receive(request, respond) {
        const body = await readBody(request, options.limit)
        const received = body instanceof WebhookError ? head : { ...head, body }
        let result: Result = { status: 0 }
        let isReported = true
        let delivery: Delivery | undefined
        const outcome = await receiverPort(options.receiver).receive(
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
    }
    await webhook({ [RECEIVER_PORT]: port } as object as Receiver)(req, res)
  }
}

function respondNotFound(req: IncomingMessage, res: ServerResponse): void {
  req.resume()
  res.writeHead(404, { 'content-type': 'application/problem+json', connection: 'close' })
  res.end('{"title":"Not found","status":404,"code":"path_unknown"}')
}

async function readBody(
  request: Parameters<ReceiverPort['receive']>[0],
  limit: number,
): Promise<Uint8Array | WebhookError> {
  // Refuses a body whose content-length exceeds the limit, without reading it.
  const declared = (request.headers as IncomingHttpHeaders)['content-length']
  if (Number(declared) > limit) return new WebhookError('body_too_large')
  const read = new AbortController()
  const timeout = setTimeout(BODY_TIMEOUT, undefined, { signal: read.signal }).then(
    () => new WebhookError('body_timeout'),
    () => new WebhookError('body_aborted'), // never the result, because the body has been read
  )
  try {
    return await Promise.race([request.read({ limit, onChunk() {} }), timeout])
  } catch (error) {
    return error instanceof WebhookError ? error : new WebhookError('body_aborted', { cause: error })
  } finally {
    read.abort()
  }
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

/** The target's response, or the reason why forwarding failed. */
type ForwardResult = { response: HttpResponse } | { error: string }

interface ForwardTarget {
  url: URL
  /** Timeout for the complete response in milliseconds. */
  timeout: number
  trust: Trust
}

/** Forwards a request with its exact body and its end-to-end headers. */
async function forward(
  { url, timeout, trust }: ForwardTarget,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<ForwardResult> {
  try {
    const response = await sendRequest(
      url,
      { ...request, headers: endToEnd(request.headers) },
      { signal, timeout, trust },
    )
    // Only 200 to 599 are valid statuses of a final response (RFC 9110 section 15).
    if (response.status >= 200 && response.status <= 599) return { response }
    return { error: `answered ${response.status}, which is not a valid final status` }
  } catch (error) {
    return { error: toCliError(error).message }
  }
}

/** Sends the target's response to the sender. Resolves when the response or its connection is closed. */
async function writeForwarded(res: ServerResponse, { status, headers, body }: HttpResponse): Promise<void> {
  const { socket } = res.req
  if (res.destroyed || socket.destroyed) return
  // Also listens to the socket: on Node 20, a pipelined response does not emit 'close' when its connection is closed.
  const closed = new Promise<void>((resolve) => {
    res.once('close', resolve)
    socket.setMaxListeners(0).once('close', resolve)
  })
  const flat = endToEnd(headers).flat()
  // 204 and 304 have no body and must not declare a length (RFC 9110 section 8.6).
  if (status !== 204 && status !== 304) flat.push('content-length', String(body.length))
  res.writeHead(status, flat)
  res.end(body)
  await closed
}

/** Replaces an outcome with a 502 response that asks the sender to retry, because the target did not respond. */
const toBadGateway = (outcome: Outcome): Outcome => ({
  ...outcome,
  status: 502,
  headers: { 'content-type': 'application/problem+json', 'retry-after': '5' },
  body: JSON.stringify({ title: 'Bad gateway', status: 502, code: 'target_unreachable' }),
})

/** Returns true if the target is this listener, which would forward deliveries to itself in a loop. */
export function isLoop(to: URL, listenerUrl: string): boolean {
  const listener = new URL(listenerUrl)
  const isHere = isLoopback(to.hostname) && (isLoopback(listener.hostname) || listener.hostname === '0.0.0.0')
  return (isHere || to.hostname === listener.hostname) && portOf(to) === portOf(listener)
}

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80')

interface Answer {
  status: number
  /** Milliseconds to wait before the response. */
  delay: number
}

/**
 * Sends an empty response after the delay, or at once when `signal` aborts. `disconnected` is true if the sender closed
 * the connection first, as senders do when their time limit expires.
 */
async function answerAfterDelay(
  res: ServerResponse,
  { status, delay }: Answer,
  signal: AbortSignal,
): Promise<{ status: number; disconnected: boolean }> {
  const { socket } = res.req
  const closed = new AbortController()
  const abort = (): void => closed.abort()
  socket.setMaxListeners(0).once('close', abort)
  if (!socket.destroyed)
    await setTimeout(delay, undefined, { signal: AbortSignal.any([signal, closed.signal]) }).catch(() => {})
  socket.off('close', abort)
  const disconnected = res.destroyed || socket.destroyed
  await writeForwarded(res, { status, headers: [], body: Buffer.alloc(0) })
  return { status, disconnected }
}
