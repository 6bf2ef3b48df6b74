import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { WebhookError } from '../errors.ts'
import type { ReadOptions } from '../receiver/request.ts'

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

/**
 * Reads the exact bytes of a Node request, from `rawBody` or a Buffer in `body` where something has left them, else
 * from the stream.
 *
 * @throws {WebhookError} `body_already_parsed`, `body_too_large`, `body_aborted`
 */
export async function readNodeBody(
  req: IncomingMessage,
  { limit, onChunk }: ReadOptions,
  left: Leftovers,
  parsers: Parsers,
): Promise<Uint8Array> {
  const ready = left.rawBody instanceof Uint8Array ? left.rawBody : left.body
  if (ready instanceof Uint8Array) {
    onChunk(ready)
    return ready
  }
  if (req.readableDidRead || req.readableEnded) throw alreadyParsed(left, parsers)
  if (req.destroyed) throw new WebhookError('body_aborted')
  try {
    // raw-body has nothing to say when a connection closes without an error, so that is waited for beside it.
    const closed = new Promise<never>((_, reject) => req.once('close', reject))
    closed.catch(() => {})
    req.on('data', onChunk)
    const whole = getRawBody(req, { limit })
    req.resume() // somebody may have paused it, to wait for something else
    return await Promise.race([whole, closed])
  } catch (cause) {
    throw toWebhookError(cause)
  } finally {
    req.off('data', onChunk)
  }
}

function toWebhookError(cause: unknown): WebhookError {
  const { type } = (cause ?? {}) as { type?: string }
  if (type === 'entity.too.large') return new WebhookError('body_too_large')
  if (type === 'stream.encoding.set') {
    return new WebhookError('body_already_parsed', {
      message: 'something called setEncoding() on the request, so its bytes have become text',
      hint: 'Remove the call, or mount geohook before it.',
    })
  }
  return new WebhookError('body_aborted', { cause })
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
