import { drainWebRequest, endOfTick, isClosingWebRequest, watchWebRequest } from '#platform'
import { WebhookError } from '../errors.ts'
import { concat } from '../signature/bytes.ts'
import type { HeaderBag } from './headers.ts'
import type { Outcome } from './outcome.ts'
import { remoteAddressOf } from './remote-address.ts'
import type { ReadOptions, ReceiverRequest, RequestHead } from './request.ts'

/**
 * The part of a web `Request` that geohook uses. The request classes of h3 and Azure Functions also have these members.
 */
export interface RequestLike {
  readonly method: string
  readonly url: string
  readonly headers: Iterable<[string, string]>
  readonly body: Pick<ReadableStream<Uint8Array>, 'cancel' | 'getReader'> | null
  readonly bodyUsed: boolean
  arrayBuffer(): Promise<ArrayBuffer>
}

/**
 * Wraps a web `Request` in a {@link ReceiverRequest}.
 *
 * @param context the framework's context: Next.js passes `params` (a promise in newer versions), and
 *   `@hono/node-server` passes Node's request. Other values are ignored
 * @param hint how to fix the error if other code has already read the body
 * @param server what the platform passes with the request, see {@link remoteAddressOf}. Default: the context
 */
export async function toReceiverRequest(
  request: RequestLike,
  context: unknown,
  hint?: string,
  server: unknown = context,
): Promise<ReceiverRequest> {
  const headers = Object.fromEntries(request.headers)
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  const chunks: Uint8Array[] = []
  watchWebRequest(request, context)

  return {
    method: request.method,
    url: request.url,
    headers,
    params: await readParams(context),
    remoteAddress: remoteAddressOf(request, server),
    async read(options) {
      await endOfTick()
      if (isClosingWebRequest(request, context)) throw new WebhookError('body_aborted')
      try {
        if (!request.bodyUsed) {
          if (isReservable(headers, options)) return await readAtOnce(request, options)
          reader = request.body?.getReader()
          return await readChunks(reader, chunks, options)
        }
      } catch (cause) {
        if (cause instanceof WebhookError) throw cause
        // If `bodyUsed` is still false, other code has locked the stream, and the error below is thrown instead.
        if (request.bodyUsed) throw new WebhookError('body_aborted', { cause })
      }
      throw new WebhookError('body_already_parsed', {
        message: 'the body of the request was read before geohook; pass request.clone() to whatever reads it',
        hint,
      })
    },
    async cancel(limit) {
      chunks.length = 0 // frees them now: the request may stay open until it is drained
      try {
        const drained = drainWebRequest(request, context, limit)
        // A cancelled body is not awaited, so that a sender that never stops cannot delay the response. It rejects if
        // another reader has locked it.
        if (drained) await drained
        else (reader ?? request.body)?.cancel().catch(() => {})
      } catch {} // an unrelated context looks like that of a server on Node
    },
  }
}

/** Returns undefined if `params` is not an object, throws or rejects: no framework passes such a value. */
async function readParams(context: unknown): Promise<RequestHead['params']> {
  try {
    const given = (context as { params?: unknown } | null)?.params
    const params: unknown = given && (await given)
    return typeof params === 'object' && params ? (params as RequestHead['params']) : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns true if the body may be read in one piece, which is faster than chunk by chunk on Node's web servers. A
 * body with a `transfer-encoding` may not, because the platform then does not enforce `content-length`.
 */
function isReservable(headers: HeaderBag, { limit, reserve }: ReadOptions): boolean {
  const length = Number(headers['content-length'])
  return length >= 0 && length <= limit && !headers['transfer-encoding'] && reserve?.(length) === true
}

async function readAtOnce(request: RequestLike, { onChunk }: ReadOptions): Promise<Uint8Array> {
  const body = new Uint8Array(await request.arrayBuffer())
  onChunk(body)
  return body
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  chunks: Uint8Array[],
  { onChunk }: ReadOptions,
): Promise<Uint8Array> {
  while (reader) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    onChunk(value)
  }
  return concat(chunks)
}

/** Converts the receiver's outcome to a web `Response`. */
export function toResponse(outcome: Outcome): Response {
  if (outcome.close) outcome.headers.connection = 'close'
  return new Response(outcome.body, outcome)
}
