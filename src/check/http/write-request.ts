/** A request to write. */
export interface RequestParts {
  /** Default POST. */
  readonly method?: string
  /** Path and query. Default: those of the payload URL. */
  readonly path?: string
  /** Headers in this order, also repeated ones. */
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: Uint8Array
  /** The value of content-length. Default: the length of the body. `null` leaves the header out. */
  readonly length?: number | null
}

/** Returns the head of a request as bytes, ending with the empty line. Values are written as Latin-1. */
export function writeHead(
  url: URL,
  { method = 'POST', path = url.pathname + url.search, headers = [], body, length }: RequestParts,
): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${url.host}`]
  for (const [name, value] of headers) lines.push(`${name}: ${value}`)
  const contentLength = length === undefined ? body?.length : length
  if (contentLength !== undefined && contentLength !== null) lines.push(`content-length: ${contentLength}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/** Returns a whole request as bytes. */
export const writeRequest = (url: URL, request: RequestParts): Buffer =>
  Buffer.concat([writeHead(url, request), request.body ?? Buffer.alloc(0)])

/** Returns one chunk of a body with `transfer-encoding: chunked`. No bytes make the last chunk. */
export const writeChunk = (bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
