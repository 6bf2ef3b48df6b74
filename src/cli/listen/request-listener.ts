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
import { type Forwarded, forward, toBadGateway, writeForwarded } from './forward.ts'

/** One request, and what became of it. */
export interface Reception {
  receivedAt: Date
  method: string
  /** Path and query. */
  url: string
  headers: HeaderPairs
  /** Absent where it could not be read whole. */
  body?: Uint8Array
  outcome: Outcome
  /** Absent where the request became none. */
  delivery?: Delivery | undefined
  /** What the sender was answered. */
  status: number
  forwarded?: Forwarded
}

/** Deliveries by the headers of their requests: an outcome does not have them. */
export type Accepted = WeakMap<HeaderBag, Delivery>

/** An observer that keeps them. Of what is refused the report tells, so no log needs to. */
export const keepIn = (accepted: Accepted): Observer => ({
  accepted: ({ delivery, request }) => accepted.set(request.headers, delivery),
  refused() {},
  failed() {},
})

export interface ReceptionOptions {
  receiver: Receiver
  /** What the receiver's observer has accepted. */
  accepted: Accepted
  /** The largest body, in bytes. */
  limit: number
  /** Other paths are answered with 404. Default: every path is taken. */
  path?: string | undefined
  forwardTo?: URL | undefined
  forwardRefused?: boolean | undefined
  /** Ends what is being passed on. */
  stop: AbortSignal
  /** Is told of each request, after it was answered. */
  report(reception: Reception): void
  /** Is told of each request for another path. */
  missed(url: string): void
}

/** Milliseconds within which the whole body must arrive. */
const BODY_TIMEOUT = 10_000

/**
 * A listener around a receiver. It reads the body ahead of it, because a receiver refuses without reading where it
 * can, and a request that is to be explained, saved or passed on is needed whole.
 */
export function createReception(
  options: ReceptionOptions,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  return async function reception(req, res) {
    const { method = '', url = '' } = req
    if (options.path !== undefined && url.split('?')[0] !== options.path) {
      answerNotFound(req, res)
      options.missed(url)
      return
    }
    const reception = { receivedAt: new Date(), method, url, headers: toPairs(req.rawHeaders) }
    await webhook({
      async receive(request, answer) {
        const body = await readAhead(request, options.limit)
        const seen: Pick<Reception, 'body'> = body instanceof WebhookError ? {} : { body }
        let forwarded: Forwarded | undefined
        let status = 0
        const outcome = await options.receiver.receive(
          { ...request, read: async ({ onChunk }) => replay(body, onChunk) },
          async (outcome) => {
            forwarded = await passOn(outcome, { ...reception, ...seen }, options)
            status = await respond(outcome, forwarded, res, answer)
          },
        )
        const delivery = options.accepted.get(request.headers)
        options.report({
          ...reception,
          ...seen,
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

function answerNotFound(req: IncomingMessage, res: ServerResponse): void {
  req.resume()
  res.writeHead(404, { 'content-type': 'application/problem+json', connection: 'close' })
  res.end('{"title":"Not found","status":404,"code":"path_unknown"}')
}

async function readAhead(request: ReceiverRequest, limit: number): Promise<Uint8Array | WebhookError> {
  // What says that it is too large is refused without being read.
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

function replay(body: Uint8Array | WebhookError, onChunk: (chunk: Uint8Array) => void): Uint8Array {
  if (body instanceof WebhookError) throw body
  onChunk(body)
  return body
}

/** Deliveries go on; refused requests only where that was asked for, and handshakes never. */
async function passOn(
  { kind }: Outcome,
  { method, headers, body }: Omit<Reception, 'outcome' | 'status'>,
  { forwardTo, forwardRefused, stop }: ReceptionOptions,
): Promise<Forwarded | undefined> {
  const isWanted = kind === 'handled' || (kind === 'refused' && forwardRefused === true)
  return forwardTo && body && isWanted ? forward(forwardTo, { method, headers, body }, stop) : undefined
}

/** @returns the status that the sender gets */
async function respond(
  outcome: Outcome,
  forwarded: Forwarded | undefined,
  res: ServerResponse,
  answer: ((outcome: Outcome) => unknown) | undefined,
): Promise<number> {
  if (forwarded && 'answer' in forwarded) {
    await writeForwarded(res, forwarded.answer)
    return forwarded.answer.status
  }
  const final = forwarded ? toBadGateway(outcome) : outcome
  await answer?.(final)
  return final.status
}
