import { drainWebRequest, endOfTick } from '#platform'
import { WebhookError } from '../errors.ts'
import { concat } from '../signature/bytes.ts'
import type { HeaderBag } from './headers.ts'
import type { Outcome } from './outcome.ts'
import type { ReadOptions, ReceiverRequest, RequestHead } from './request.ts'

/** The part of a web `Request` that geohook uses; the request classes of h3 and Azure Functions have it too. */
export interface RequestLike {
  readonly method: string
  readonly url: string
  readonly headers: Iterable<[string, string]>
  readonly body: Pick<ReadableStream<Uint8Array>, 'cancel' | 'getReader'> | null
  readonly bodyUsed: boolean
  arrayBuffer(): Promise<ArrayBuffer>
}

/**
 * Wraps a web `Request` in the receiver's port.
 *
 * @param context what the framework passes along with the request: Next.js passes `params` (a promise in newer versions),
 *   `@hono/node-server` Node's own request; unknown values are ignored
 * @param hint what to do if the body was read before
 */
export async function toReceiverRequest(
  request: RequestLike,
  context: unknown,
  hint?: string,
): Promise<ReceiverRequest> {
  const headers = Object.fromEntries(request.headers)
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  return {
    method: request.method,
    url: request.url,
    headers,
    params: await readParams(context),
    async read(options) {
      await endOfTick()
      try {
        if (!request.bodyUsed) {
          if (isReservable(headers, options)) return await readAtOnce(request, options)
          reader = request.body?.getReader()
          return await readChunks(reader, options)
        }
      } catch (cause) {
        if (cause instanceof WebhookError) throw cause
        // If someone else has locked the stream, bodyUsed is still false.
        if (request.bodyUsed) throw new WebhookError('body_aborted', { cause })
      }
      throw new WebhookError('body_already_parsed', {
        message: 'the body of the request was read before geohook; pass request.clone() to whatever reads it',
        hint,
      })
    },
    // Not awaited by the receiver: a sender that does not stop must not delay the response.
    async cancel(limit) {
      if (drainWebRequest(request, context, limit)) return
      try {
        await (reader ?? request.body)?.cancel()
      } catch {} // another reader has locked it
    },
  }
}

/** Returns undefined if `params` is not an object or its promise rejects: then it is not the framework's. */
async function readParams(context: unknown): Promise<RequestHead['params']> {
  const given = (context as { params?: unknown } | null)?.params
  const params: unknown = given && (await Promise.resolve(given).catch(() => {}))
  return typeof params === 'object' && params ? (params as RequestHead['params']) : undefined
}

/**
 * Whether the body may be read in one piece, which takes Node's web servers half as long as reading chunks. The platform
 * enforces the announced length, unless there is a transfer-encoding.
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
  { onChunk }: ReadOptions,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
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
