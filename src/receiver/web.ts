import { drainBeside, endOfTurn } from '#turn'
import { WebhookError } from '../errors.ts'
import { concat } from '../signature/bytes.ts'
import type { HeaderBag } from './headers.ts'
import type { Outcome } from './outcome.ts'
import type { ReceiverRequest, RequestHead } from './request.ts'

/** What a web `Request` and its relatives have in common. */
export interface RequestLike {
  readonly method: string
  readonly url: string
  readonly headers: Iterable<[string, string]>
  readonly body: Pick<ReadableStream<Uint8Array>, 'cancel' | 'getReader'> | null
  readonly bodyUsed: boolean
  arrayBuffer(): Promise<ArrayBuffer>
}

/**
 * A web `Request` as the receiver's port.
 *
 * @param context what frameworks hand over beside the request: the one of Next.js has `params`, a promise in its newer
 *   versions, and that of @hono/node-server has Node's own request; others hand over things of their own, which are left alone
 * @param hint what to do where something has read the body before
 */
export async function toReceiverRequest(
  request: RequestLike,
  context: unknown,
  hint?: string,
): Promise<ReceiverRequest> {
  const given = (context as { params?: unknown } | null)?.params
  // Not every `params` is a framework's: one that fails, or is no object, is none.
  const params: unknown = given && (await Promise.resolve(given).catch(() => {}))
  const headers = Object.fromEntries(request.headers)
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  return {
    method: request.method,
    url: request.url,
    headers,
    params: typeof params === 'object' && params ? (params as RequestHead['params']) : undefined,
    async read({ onChunk }) {
      await endOfTurn()
      const chunks: Uint8Array[] = []
      function take(chunk: Uint8Array): void {
        chunks.push(chunk)
        onChunk(chunk)
      }
      try {
        if (!request.bodyUsed) {
          if (isShort(headers)) take(new Uint8Array(await request.arrayBuffer()))
          else reader = request.body?.getReader()
          while (reader) {
            const { done, value } = await reader.read()
            if (done) break
            take(value)
          }
          return concat(chunks)
        }
      } catch (cause) {
        if (cause instanceof WebhookError) throw cause
        // Of a stream that somebody else has locked, nothing is read.
        if (request.bodyUsed) throw new WebhookError('body_aborted', { cause })
      }
      throw new WebhookError('body_already_parsed', {
        message: 'Request was read: clone()',
        hint,
      })
    },
    // The receiver does not wait for it: a sender that does not stop must not hold the answer back.
    async cancel(limit) {
      if (drainBeside(request, context, limit)) return
      try {
        await (reader ?? request.body)?.cancel()
      } catch {} // it belongs to another reader
    },
  }
}

/**
 * Whether the body need not be read piece by piece: with fewer than 100,000 bytes it is small, and platforms cut it off
 * there. Servers that make a stream only where one is asked for give the whole in a tenth of the time.
 */
const isShort = (headers: HeaderBag): boolean =>
  Number(headers['content-length']) < 100_000 && !headers['transfer-encoding']

/** The receiver's outcome as a web `Response`. */
export function toResponse(outcome: Outcome): Response {
  if (outcome.close) outcome.headers.connection = 'close'
  return new Response(outcome.body, outcome)
}
