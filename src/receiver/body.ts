import { WebhookError } from '../errors.ts'
import { readHeader } from './headers.ts'
import type { ByteCounter } from './in-flight.ts'
import type { Config } from './options.ts'
import type { ReceiverRequest, RequestHead } from './request.ts'
import { stacklessError } from './stackless-error.ts'

/** A timer that fires this many milliseconds late shows that the process was paused. */
const PAUSE = 100

/**
 * Rejects a request whose headers announce a body that is too large or compressed. Compression is not supported,
 * because some senders sign the compressed bytes and others sign the original bytes.
 *
 * @throws {WebhookError} `content_encoding_unsupported`, `body_too_large`
 */
export function requireReadable({ headers }: RequestHead, { limit }: Config): void {
  const encoding = readHeader(headers, 'content-encoding')?.trim().toLowerCase()
  if (encoding && encoding !== 'identity') throw stacklessError('content_encoding_unsupported')
  if (Number(readHeader(headers, 'content-length')) > limit) throw stacklessError('body_too_large')
}

/**
 * Reads the body within three bounds: `limit` bytes, the byte budget shared by all requests in flight, and
 * `bodyTimeout` milliseconds for the whole body to arrive.
 *
 * @param onChunk called with each chunk as it arrives, in order
 * @throws {WebhookError} `body_too_large`, `receiver_busy`, `body_timeout`, `body_aborted`, `body_already_parsed`
 */
export function readBody(
  request: ReceiverRequest,
  { limit, bodyTimeout }: Config,
  counter: ByteCounter,
  onChunk: (chunk: Uint8Array) => void,
): Uint8Array | Promise<Uint8Array> {
  const reading = request.read({
    limit,
    reserve: counter.reserve,
    onChunk(chunk) {
      counter.add(chunk.length)
      onChunk(chunk)
    },
  })
  // A body that was read synchronously needs no timer.
  if (!('then' in reading)) return reading
  return new Promise((resolve, reject) => {
    const due = performance.now() + bodyTimeout
    const expire = (): void => reject(new WebhookError('body_timeout'))
    let timer = setTimeout(() => {
      // If the process was suspended, or its event loop blocked, the sender gets the time that it had to wait, but only
      // once: under constant load, slow uploads must end.
      const late = Math.min(performance.now() - due, bodyTimeout)
      if (late < PAUSE) expire()
      else timer = setTimeout(expire, late)
    }, bodyTimeout)
    reading.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
