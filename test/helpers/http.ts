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
  /** A list sends the header once for each value. */
  headers?: OutgoingHttpHeaders
  body?: Uint8Array | string
  /** Sent one by one, without a content-length. */
  chunks?: readonly (Uint8Array | string)[]
}

/** Sends a request as it is: no header is added but what HTTP needs. */
export async function send(
  url: string,
  { method = 'POST', headers = {}, body, chunks }: Sent,
): Promise<Answer> {
  const req = request(url, { method, headers, agent: false })
  if (chunks) for (const chunk of chunks) req.write(chunk)
  req.end(chunks ? undefined : body)
  return answerOf(req)
}

/** Waits for the answer, whether or not the request was sent whole. */
export async function answerOf(req: ReturnType<typeof request>): Promise<Answer> {
  // A server may answer and hang up before everything is sent.
  req.on('error', () => {})
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of res) parts.push(part as Buffer)
  return { status: res.statusCode ?? 0, headers: res.headers, text: Buffer.concat(parts).toString() }
}

/** Begins a request and leaves it unfinished. */
export function begin(
  url: string,
  headers: OutgoingHttpHeaders,
  part: Uint8Array | string,
): ReturnType<typeof request> {
  const req = request(url, { method: 'POST', headers, agent: false })
  req.write(part)
  return req
}

/** Writes bytes to a socket, and reads what comes back until the other side ends. */
export async function raw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(text)
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}
