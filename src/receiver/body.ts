import { refusal } from '#refusal'
import { WebhookError } from '../errors.ts'
import type { Awaitable } from '../signature/awaitable.ts'
import { readHeader } from './headers.ts'
import type { Share } from './in-flight.ts'
import type { Config } from './options.ts'
import type { ReceiverRequest, RequestHead } from './request.ts'

/**
 * Refuses what need not be read: a body that says it is too large, and one that is compressed, because its bytes
 * are not the ones that handlers would see, and whether they were signed before or after differs among senders.
 *
 * @throws {WebhookError} `content_encoding_unsupported`, `body_too_large`
 */
export function requireReadable({ headers }: RequestHead, { limit }: Config): void {
  const encoding = readHeader(headers, 'content-encoding')?.trim().toLowerCase()
  if (encoding && encoding !== 'identity') throw refusal('content_encoding_unsupported')
  if (Number(readHeader(headers, 'content-length')) > limit) throw refusal('body_too_large')
}

/**
 * Reads the body within `bodyTimeout` milliseconds, from the first byte to the last, and within the bounds of `share`.
 *
 * @throws {WebhookError} `body_too_large`, `receiver_busy`, `body_timeout`, `body_aborted`, `body_already_parsed`
 */
export function readBody(
  request: ReceiverRequest,
  { limit, bodyTimeout }: Config,
  share: Share,
  onChunk: (chunk: Uint8Array) => void,
): Awaitable<Uint8Array> {
  const reading = request.read({
    limit,
    onChunk(chunk) {
      share.add(chunk.length)
      onChunk(chunk)
    },
  })
  // Most bodies are complete at once and need no timer.
  return 'then' in reading ? inTime(reading, bodyTimeout) : reading
}

function inTime(reading: Promise<Uint8Array>, milliseconds: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new WebhookError('body_timeout')), milliseconds)
    reading.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
