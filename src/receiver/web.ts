import { WebhookError } from '../errors.ts'
import { concat } from '../signature/bytes.ts'
import type { Outcome } from './outcome.ts'
import type { ReadOptions, ReceiverRequest } from './request.ts'

/** What a framework knows beside the `Request`. */
export interface FetchContext {
  /** Route parameters, for a `signatureKey` function. */
  params?: Readonly<Record<string, string>>
}

/** A web `Request` as the receiver's port. */
export function toReceiverRequest(request: Request, context: FetchContext = {}): ReceiverRequest {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  // Not awaited: a sender that does not stop must not hold the answer back.
  const cancel = (): void => void reader?.cancel().catch(() => {})

  async function read({ limit, onChunk }: ReadOptions): Promise<Uint8Array> {
    if (request.bodyUsed) {
      const message =
        'the body of this Request was read before; hand receiver.fetch the Request or a clone() first'
      throw new WebhookError('body_already_parsed', { message })
    }
    reader = request.body?.getReader()
    const chunks: Uint8Array[] = []
    let length = 0
    while (reader) {
      const { done, value } = await reader.read()
      if (done) break
      length += value.length
      if (length > limit) {
        cancel()
        throw new WebhookError('body_too_large')
      }
      chunks.push(value)
      onChunk(value)
    }
    return concat(chunks)
  }

  return {
    method: request.method,
    url: request.url,
    headers: Object.fromEntries(request.headers),
    ...(context.params ? { params: context.params } : {}),
    read: (options) =>
      read(options).catch((error: unknown) => {
        throw error instanceof WebhookError ? error : new WebhookError('body_aborted', { cause: error })
      }),
    cancel,
  }
}

/** The receiver's outcome as a web `Response`. */
export function toResponse({ status, headers, body }: Outcome): Response {
  return new Response(body, { status, headers })
}
