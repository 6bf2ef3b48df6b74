import { bodyArrives, drainWebRequest, isClosingWebRequest, watchWebRequest } from '#runtime'
import { WebhookError } from '../errors.ts'
import { concat } from '../shared/bytes.ts'
import { type BlockWriter, remoteAddressOf, writeBlocks } from './request.ts'
import type { Outcome, ReadOptions, ReceiverRequest, RequestHead } from './types.ts'

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
  const blocks: Uint8Array[] = []
  let writer: BlockWriter | undefined
  watchWebRequest(request, context)

  return {
    method: request.method,
    url: request.url,
    headers,
    params: await readParams(context),
    remoteAddress: remoteAddressOf(request, server),
    async read(options) {
      const length = headers['transfer-encoding'] ? Number.NaN : Number(headers['content-length'])
      const isWhole = await bodyArrives(request, context, length)
      if (isClosingWebRequest(request, context)) throw new WebhookError('body_aborted')
      try {
        if (!request.bodyUsed) {
          if (isWhole) return await readAtOnce(request, options)
          reader = request.body?.getReader()
          writer = writeBlocks(options, (block) => blocks.push(block))
          await readChunks(reader, writer)
          return concat(blocks.splice(0))
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
      blocks.length = 0 // frees them now: the request may stay open until it is drained
      writer?.clear()
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

async function readAtOnce(request: RequestLike, { onChunk }: ReadOptions): Promise<Uint8Array> {
  const body = new Uint8Array(await request.arrayBuffer())
  onChunk(body)
  return body
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  writer: BlockWriter,
): Promise<void> {
  while (reader) {
    const { done, value } = await reader.read()
    if (done) break
    writer.add(value)
  }
  writer.end()
}

/** Converts the receiver's outcome to a web `Response`. */
export function toResponse(outcome: Outcome): Response {
  if (outcome.close) outcome.headers.connection = 'close'
  return new Response(outcome.body, outcome)
}
