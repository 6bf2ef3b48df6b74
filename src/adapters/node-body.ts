import { IncomingMessage } from 'node:http'
import { endOfTurn } from '#turn'
import { WebhookError } from '../errors.ts'
import type { ReadOptions } from '../receiver/request.ts'
import type { Awaitable } from '../signature/awaitable.ts'
import { createGatherer } from './gather.ts'

/** What parsers and hosts leave of a body: bytes are as good as the stream, a parsed value is not. */
export interface Leftovers {
  rawBody?: unknown
  body?: unknown
  _body?: unknown
}

/** What reads bodies in a framework, by what it leaves there, and what to do about it. */
export interface Parsers {
  /** Leave a text. */
  text: string
  /** Leave a value. */
  value: string
  hint: string
}

/** The bytes that something has left in `rawBody`, or as a Buffer in `body`. */
export function bytesOf({ rawBody, body }: Leftovers): Uint8Array | undefined {
  const ready = rawBody instanceof Uint8Array ? rawBody : body
  return ready instanceof Uint8Array ? ready : undefined
}

/**
 * Reads the exact bytes of a Node request from its stream.
 *
 * @throws {WebhookError} `body_already_parsed`, `body_too_large`, `body_aborted`
 */
export function readNodeBody(
  req: IncomingMessage,
  options: ReadOptions,
  left: Leftovers,
  parsers: Parsers,
): Awaitable<Uint8Array> {
  const arrived = takeArrived(req, options)
  if (arrived) return arrived
  if (req.destroyed && !req.readableDidRead) throw new WebhookError('body_aborted')
  if (req.readableDidRead || req.readableEnded) throw alreadyParsed(left, parsers)
  if (req.readableEncoding) throw asText()
  return readStream(req, options)
}

const asText = (): WebhookError =>
  new WebhookError('body_already_parsed', {
    message: 'something called setEncoding() on the request, so its bytes have become text',
    hint: 'Remove the call, or mount geohook before it.',
  })

/** The body of most requests comes with their head: it is taken as it is, without any listener. */
function takeArrived(req: IncomingMessage, { limit, onChunk }: ReadOptions): Uint8Array | undefined {
  const length = req.readableLength
  if (length === 0 || length > limit || length !== Number(req.headers['content-length']) || req.destroyed)
    return undefined
  const body: unknown = req.read()
  if (!(body instanceof Uint8Array)) throw asText()
  onChunk(body)
  void readOn(req)
  return body
}

/** Its end and its closing are told only to who reads past the last byte, and others may wait for them, also later. */
async function readOn(req: IncomingMessage): Promise<void> {
  await endOfTurn()
  if (req.complete) req.read()
  else req.resume()
}

/** Resolves when the request, of which all bytes are taken, has ended: whoever reads it next sees that nothing is left. */
export async function whenEnded(req: IncomingMessage): Promise<void> {
  if (req.readableEnded || req.destroyed) return
  await new Promise((resolve) => req.once('end', resolve).once('close', resolve))
}

function readStream(req: IncomingMessage, { limit, onChunk }: ReadOptions): Promise<Uint8Array> {
  const gatherer = createGatherer(limit, Number(req.headers['content-length']))
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      req.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
    }
    function onData(chunk: Uint8Array): void {
      try {
        const isWhole = gatherer.add(chunk)
        onChunk(chunk)
        // Node tells of its end later. Of HTTP/2 it is not sure that there comes no more, nor that the end does.
        if (isWhole && req instanceof IncomingMessage) onEnd()
      } catch (error) {
        stop()
        // After a timeout, the answer has been given and somebody else reads the rest.
        if (req.listenerCount('data') === 0) req.pause()
        reject(error)
      }
    }
    function onEnd(): void {
      stop()
      resolve(gatherer.whole())
    }
    function onBroken(cause?: unknown): void {
      stop()
      reject(new WebhookError('body_aborted', { cause }))
    }
    req.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
    req.resume() // somebody may have paused it, to wait for something else
  })
}

/** Names the culprit by what it has left behind. */
function alreadyParsed({ body, _body }: Leftovers, { text, value, hint }: Parsers): WebhookError {
  const culprit =
    typeof body === 'string'
      ? `a text parser, such as ${text},`
      : _body === true || (typeof body === 'object' && body !== null)
        ? `a body parser, such as ${value},`
        : 'something'
  return new WebhookError('body_already_parsed', { message: `${culprit} read the body before geohook`, hint })
}
