import { WebhookError } from '../errors.ts'
import { concat } from '../signature/bytes.ts'
import type { Outcome } from './outcome.ts'
import type { ReadOptions, ReceiverRequest, RequestHead } from './request.ts'

/** What a web `Request` and its relatives have in common. */
export interface RequestLike {
  readonly method: string
  readonly url: string
  readonly headers: Iterable<[string, string]>
  readonly body: Pick<ReadableStream<Uint8Array>, 'locked' | 'getReader'> | null
  readonly bodyUsed: boolean
}

/**
 * A web `Request` as the receiver's port.
 *
 * @param context what frameworks hand over beside the request: the one of Next.js has `params`, a promise in its newer
 *   versions; others hand over things of their own, which are left alone
 * @param hint what to do where something has read the body before
 */
export async function toReceiverRequest(
  request: RequestLike,
  context: unknown,
  hint?: string,
): Promise<ReceiverRequest> {
  // Not every `params` is a framework's: one that fails, or is no object, is none.
  const params: unknown = await Promise.resolve((context as { params?: unknown } | null)?.params).catch(
    () => {},
  )
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  // Not awaited: a sender that does not stop must not hold the answer back.
  const cancel = (): void => void reader?.cancel().catch(() => {})

  async function read({ limit, onChunk }: ReadOptions): Promise<Uint8Array> {
    if (request.bodyUsed || request.body?.locked) {
      throw new WebhookError('body_already_parsed', {
        message: 'the Request was read before: hand a clone() to what reads it',
        hint,
      })
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
    params: typeof params === 'object' && params ? (params as RequestHead['params']) : undefined,
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
