import { remoteAddressOf } from '../../receiver/request.ts'
import type { HeaderBag } from '../../receiver/types.ts'
import type { Values } from '../action.ts'
import { readChunks, requireFormType } from './form-values.ts'
import type { InspectorRequest, InspectorResponse } from './message.ts'
import { toPath } from './path.ts'

/** Reads a web `Request`. @returns undefined if the request is outside of the base */
export function fromWeb(request: Request, server: unknown, base = ''): InspectorRequest | undefined {
  const place = toPath(request.url, base)
  if (!place) return undefined
  const headers: HeaderBag = { host: new URL(request.url).host, ...Object.fromEntries(request.headers) }
  return {
    method: request.method === 'HEAD' ? 'GET' : request.method,
    ...place,
    base,
    headers,
    isSecure: request.url.startsWith('https:'),
    httpVersion: undefined,
    remoteAddress: remoteAddressOf(request, server),
    readForm: () => readForm(request),
    original: request,
  }
}

async function readForm(request: Request): Promise<Values> {
  requireFormType(request.headers.get('content-type') ?? undefined)
  return request.body ? readChunks(chunksOf(request.body)) : {}
}

/** Not every platform can iterate over a stream. Cancels the stream if the loop ends before it. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel()
  }
}

export function toWeb({ status, headers, body }: InspectorResponse, isHead: boolean): Response {
  if (isHead && body instanceof ReadableStream) void body.cancel()
  return new Response(isHead ? null : body, { status, headers })
}
