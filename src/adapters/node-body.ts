import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { WebhookError } from '../errors.ts'
import type { ReadOptions } from '../receiver/request.ts'

/** What parsers and hosts leave on a request: bytes are as good as the stream, a parsed value is not. */
export type NodeRequest = IncomingMessage & { rawBody?: unknown; body?: unknown; _body?: unknown }

/**
 * Reads the exact bytes of a Node request, from `req.rawBody` or a Buffer in `req.body` where something has put
 * them there, else from the stream.
 *
 * @throws {WebhookError} `body_already_parsed`, `body_too_large`, `body_aborted`
 */
export async function readNodeBody(req: NodeRequest, { limit, onChunk }: ReadOptions): Promise<Uint8Array> {
  const ready = req.rawBody instanceof Uint8Array ? req.rawBody : req.body
  if (ready instanceof Uint8Array) {
    if (ready.length > limit) throw new WebhookError('body_too_large')
    onChunk(ready)
    return ready
  }
  if (req.readableDidRead || req.readableEnded) throw alreadyParsed(req)
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
function alreadyParsed({ body, _body }: NodeRequest): WebhookError {
  const parser =
    typeof body === 'string'
      ? 'a text parser, such as express.text(),'
      : _body === true || (typeof body === 'object' && body !== null)
        ? 'a body parser, such as express.json() or express.urlencoded(),'
        : 'something'
  return new WebhookError('body_already_parsed', {
    message: `${parser} read the body before geohook`,
    hint:
      'Mount geohook before app.use(express.json()), or keep its path out of the parser. ' +
      'If the parser must come first, let it keep the bytes: express.json({ verify: (req, res, bytes) => { req.rawBody = bytes } }).',
  })
}
