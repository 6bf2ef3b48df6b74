import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import type { Outcome } from '../receiver/outcome.ts'
import type { ReceiverRequest } from '../receiver/request.ts'
import { readNodeBody } from './node-body.ts'

/** A Node request as the receiver's port. */
export function toReceiverRequest(req: IncomingMessage): ReceiverRequest {
  return {
    method: req.method ?? '',
    url: req.url ?? '',
    headers: req.headers,
    read: (options) => readNodeBody(req, options),
  }
}

/** Writes the answer, unless the next handler has answered already or nobody is there to read it. Resolves when it is sent. */
export async function writeOutcome(
  req: IncomingMessage,
  res: ServerResponse,
  { status, headers, body, close }: Outcome,
): Promise<void> {
  const sent = new Promise<void>((resolve) => finished(res, () => resolve()))
  if (!res.headersSent) {
    if (close) res.shouldKeepAlive = false
    if (!req.complete) drain(req)
    res.writeHead(status, { ...headers, 'content-length': body.length })
    res.write(body)
  }
  // Also where somebody has begun an answer before: nobody else will end it.
  if (!res.writableEnded) res.end()
  await sent
}

/** Bytes and milliseconds that a sender gets to finish what it is sending, after it was refused. */
const DRAIN = { bytes: 1024 * 1024, milliseconds: 5_000 }

/**
 * A sender that is still sending would not read the answer if the connection were cut, so it may finish, within
 * bounds. Beyond them the connection ends.
 */
function drain(req: IncomingMessage): void {
  let bytes = 0
  const timer = setTimeout(() => req.destroy(), DRAIN.milliseconds)
  timer.unref()
  req.once('close', () => clearTimeout(timer))
  req.on('error', () => {})
  req.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length
    if (bytes > DRAIN.bytes) req.destroy()
  })
  req.resume() // whoever refused the body has paused it
}
