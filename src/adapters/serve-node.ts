import type { IncomingMessage, ServerResponse } from 'node:http'
import { endOfTurn } from '#turn'
import type { Receiver } from '../receiver/api.ts'
import type { Delivery } from '../receiver/delivery.ts'
import { drain, requireTaken } from '../receiver/drain.node.ts'
import type { Outcome } from '../receiver/outcome.ts'
import type { RequestHead } from '../receiver/request.ts'
import { when } from '../signature/awaitable.ts'
import { bytesOf, type Leftovers, type Parsers, readNodeBody, whenEnded } from './node-body.ts'
import { isSent, whenSent } from './node-connection.ts'
import { headersOf } from './node-headers.ts'

/** One request of a framework on Node streams, and what is that framework's own. */
export interface NodeExchange {
  req: IncomingMessage
  res: ServerResponse
  /** The whole path and query, where a router cuts `req.url`. Default: `req.url`. */
  url?: string | undefined
  params?: RequestHead['params']
  /** Where parsers leave what they have read. Default: the request itself. */
  left?: Leftovers
  parsers: Parsers
  /**
   * Lets the framework run what comes next, which answers then. Where it knows when that is done and what the answer is,
   * it resolves with the status; else that is seen by the answer.
   */
  next?: ((delivery: Delivery) => Promise<number> | undefined) | undefined
  /** Answers the framework's way. Default: through `res`. */
  write?(outcome: Outcome): void
}

/** Receives the request. Resolves when it is answered, by the receiver or by what it was passed on to. */
export async function serve(
  receive: Receiver['receive'],
  {
    req,
    res,
    url,
    params,
    left = req as Leftovers,
    parsers,
    next,
    write = (outcome) => writeTo(res, outcome),
  }: NodeExchange,
): Promise<void> {
  let isPassedOn = false
  let isRead = false
  /** Whether its body was there at once: then its end comes in this turn. */
  let isWhole = false
  function passOn(run: NonNullable<typeof next>, delivery: Delivery): Promise<number> {
    const answered = whenSent(req, res)
    left.rawBody = delivery.rawBody // for parsers that come behind, and for another webhook()
    isPassedOn = true
    try {
      const done = run(delivery)
      if (!done) return answered.then(requireStatus)
      // A sender that has gone does not undo what was done.
      return done.then((status) => answered.then(() => status))
    } catch (error) {
      isPassedOn = false // nobody else would answer: hosts that do catch what is thrown
      throw error
    }
  }
  await receive(
    {
      method: req.method ?? '',
      url: url ?? req.url ?? '',
      headers: headersOf(req),
      params,
      read(options) {
        const ready = bytesOf(left)
        if (ready) {
          options.onChunk(ready)
          return ready
        }
        const reading = readNodeBody(req, options, left, parsers)
        isWhole = !(reading instanceof Promise)
        return when(reading, (body) => {
          isRead = true // bytes that somebody has left would say nothing about the stream
          return body
        })
      },
      cancel: (limit) => drain(req, res, limit),
      next:
        next &&
        ((delivery) => (isRead ? whenEnded(req) : Promise.resolve()).then(() => passOn(next, delivery))),
    },
    // Once it is passed on, the response belongs to the next handler, even where its client has gone.
    async (outcome) => {
      if (isPassedOn) return
      if (isWhole) await endOfTurn()
      await answer(req, res, outcome, write)
    },
  )
}

function requireStatus(status: number | undefined): number {
  if (status === undefined) throw new Error('the connection was closed')
  return status
}

/** Answers, if anybody is there to read it. Resolves when the answer is sent, or cannot be any more. */
function answer(
  req: IncomingMessage,
  res: ServerResponse,
  outcome: Outcome,
  write: (outcome: Outcome) => void,
): unknown {
  if (res.destroyed) return undefined
  if (res.headersSent) {
    // Somebody has begun an answer before, and nobody else will end it: as a success it must not look like one if it is none.
    if (outcome.error && !res.writableEnded) res.destroy()
    else res.end()
  } else {
    if (outcome.close) res.shouldKeepAlive = false
    write(outcome)
    requireTaken(res)
  }
  return isSent(res) ? undefined : whenSent(req, res)
}

/** Writes an outcome to Node's own response. */
export function writeTo(res: ServerResponse, { status, headers, body }: Outcome): void {
  res.writeHead(status, Object.assign({ 'content-length': body.length }, headers))
  res.end(body)
}
