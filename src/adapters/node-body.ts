import type { IncomingMessage } from 'node:http'
import { WebhookError } from '../errors.ts'
import type { ReadOptions } from '../receiver/request.ts'

/** Properties in which body parsers and hosts store a body that they have read. Only raw bytes can be verified. */
export interface ParsedBody {
  rawBody?: unknown
  body?: unknown
  _body?: unknown
}

/** The body parsers of a framework, for the error message when one of them ran first. */
export interface ParserNames {
  /** Names of the parsers that leave a string. */
  text: string
  /** Names of the parsers that leave a parsed value. */
  value: string
  hint: string
}

/** The bytes in `rawBody`, or in `body` if that is a Buffer. */
export function bytesOf({ rawBody, body }: ParsedBody): Uint8Array | undefined {
  const bytes = rawBody instanceof Uint8Array ? rawBody : body
  return bytes instanceof Uint8Array ? bytes : undefined
}

/**
 * Reads the exact bytes of a Node request from its stream.
 *
 * @throws {WebhookError} `body_already_parsed`, `body_too_large`, `body_aborted`
 */
export function readNodeBody(
  req: IncomingMessage,
  options: ReadOptions,
  parsed: ParsedBody,
  parsers: ParserNames,
): Uint8Array | Promise<Uint8Array> {
  const arrived = takeArrived(req, options)
  if (arrived) return arrived
  if (req.destroyed && !req.readableDidRead) throw new WebhookError('body_aborted')
  if (req.readableDidRead || req.readableEnded) throw alreadyParsed(parsed, parsers)
  if (req.readableEncoding) throw encodingSet()
  return readStream(req, options)
}

/** Reads the body synchronously if it arrived with the headers, as small bodies do. */
function takeArrived(req: IncomingMessage, { limit, onChunk }: ReadOptions): Uint8Array | undefined {
  const length = req.readableLength
  if (length === 0 || length > limit || length !== Number(req.headers['content-length']) || req.destroyed)
    return undefined
  const body: unknown = req.read()
  if (!(body instanceof Uint8Array)) throw encodingSet()
  onChunk(body)
  req.resume() // without it, 'end' and 'close' would never be emitted
  return body
}

const EVENTS = ['aborted', 'close', 'data', 'end', 'error'] as const

/** Loaded when it is first needed: it would double the import time of the adapters. */
let getRawBody: typeof import('raw-body') | undefined

/** Reads the stream with raw-body, while `onChunk` gets each chunk in the tick in which it arrives. */
async function readStream(req: IncomingMessage, { limit, onChunk }: ReadOptions): Promise<Uint8Array> {
  if (!getRawBody) {
    req.pause() // other code may be listening already, and the chunks of the meantime would be missing here
    getRawBody = (await import('raw-body')).default
  }
  const read = getRawBody
  return new Promise((resolve, reject) => {
    const listenersOf = (event: string) => req.listeners(event) as (() => void)[]
    const others = new Set(EVENTS.flatMap(listenersOf))
    function settle(done: () => void): void {
      // raw-body cannot be cancelled. Removing its listeners frees its chunks while the request is drained.
      for (const [event, listener] of added) req.off(event, listener)
      done()
    }
    const fail = (error: unknown): void => settle(() => reject(error))
    req.on('data', (chunk: unknown) => {
      try {
        if (!(chunk instanceof Uint8Array)) throw encodingSet() // raw-body would throw at 'end', where nothing catches it
        onChunk(chunk)
      } catch (error) {
        fail(error)
      }
    })
    read(req, { limit, length: req.headers['content-length'] ?? null }, (error, body) => {
      if (error) fail(toWebhookError(error))
      else settle(() => resolve(unpool(body)))
    })
    // raw-body does not end if the request closes without 'aborted', 'error' or 'end'.
    req.on('close', () => fail(new WebhookError('body_aborted')))
    const added = EVENTS.flatMap((event) =>
      listenersOf(event)
        .filter((listener) => !others.has(listener))
        .map((listener) => [event, listener] as const),
    )
    req.resume() // raw-body does not resume a stream that was paused
  })
}

/** Copies a small body out of the memory pool that it shares with unrelated Buffers of the process. */
const unpool = (body: Buffer): Uint8Array =>
  body.buffer.byteLength === body.length ? body : new Uint8Array(body)

function toWebhookError(error: { type?: string }): WebhookError {
  return new WebhookError(error.type === 'entity.too.large' ? 'body_too_large' : 'body_aborted', {
    cause: error,
  })
}

/** Resolves when a request whose bytes have all been read has emitted its end: later readers see that nothing is left. */
export async function whenEnded(req: IncomingMessage): Promise<void> {
  if (req.readableEnded || req.destroyed) return
  await new Promise((resolve) => req.once('end', resolve).once('close', resolve))
}

const encodingSet = (): WebhookError =>
  new WebhookError('body_already_parsed', {
    message: 'setEncoding() was called on the request, so its bytes have become text',
    hint: 'Remove the call, or mount geohook before it.',
  })

/** Names the body parser by what it has left behind. */
function alreadyParsed({ body, _body }: ParsedBody, { text, value, hint }: ParserNames): WebhookError {
  const culprit =
    typeof body === 'string'
      ? `a text parser, such as ${text},`
      : _body === true || (typeof body === 'object' && body !== null)
        ? `a body parser, such as ${value},`
        : 'something'
  return new WebhookError('body_already_parsed', { message: `${culprit} read the body before geohook`, hint })
}
