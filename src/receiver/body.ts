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
    let due = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    function expireIn(milliseconds: number): void {
      due = performance.now() + milliseconds
      timer = setTimeout(expire, milliseconds)
    }
    function expire(): void {
      const late = performance.now() - due
      if (late < PAUSE) {
        reject(new WebhookError('body_timeout'))
      } else {
        // The process was suspended, or its event loop blocked: give the sender the time that it had to wait.
        expireIn(Math.min(late, bodyTimeout))
      }
    }
    expireIn(bodyTimeout)
    reading.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
