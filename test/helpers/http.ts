import { once } from 'node:events'
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  text: string
}

export interface Sent {
  method?: string
  /** A header whose value is a list is sent once for each item. */
  headers?: OutgoingHttpHeaders
  body?: Uint8Array | string
  /** Chunks to send instead of `body`. The request then has no `content-length` header. */
  chunks?: readonly (Uint8Array | string)[]
}

/** Sends a request with the given headers and those that HTTP requires, and no others. */
export async function send(
  url: string,
  { method = 'POST', headers = {}, body, chunks }: Sent,
): Promise<Answer> {
  const req = request(url, { method, headers, agent: false })
  if (chunks) for (const chunk of chunks) req.write(chunk)
  req.end(chunks ? undefined : body)
  return answerOf(req)
}

/** Resolves with the response, even if it arrives while the request is still being sent. */
export async function answerOf(req: ReturnType<typeof request>): Promise<Answer> {
  // Ignores errors, because a server may respond and close the connection before the whole request has been sent.
  req.on('error', () => {})
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of res) parts.push(part as Buffer)
  return { status: res.statusCode ?? 0, headers: res.headers, text: Buffer.concat(parts).toString() }
}

/** Sends the headers and part of the body, and leaves the request unfinished. */
export function begin(
  url: string,
  headers: OutgoingHttpHeaders,
  part: Uint8Array | string,
): ReturnType<typeof request> {
  const req = request(url, { method: 'POST', headers, agent: false })
  req.write(part)
  return req
}

/** Writes text to a socket, and returns everything received until the server closes the connection. */
export async function raw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(text)
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}
