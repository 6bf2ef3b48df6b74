import type { Socket } from 'node:net'
import type { Redactor } from '../shared/redact.ts'
import { isSuccess as isSuccessStatus } from '../shared/status.ts'

/** A response, or the reason why none arrived. */
export type Reply = ReceivedResponse | Silence

/** A response as it came over the connection. */
export interface ReceivedResponse {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The body, decoded from chunks. Bytes after {@link MAX_BODY} are missing. */
  readonly body: Buffer
  /** The first {@link MAX_EXCERPT} characters of the body, without the key. */
  readonly excerpt: string
  /** Milliseconds from the last byte of the request, or from the start of waiting, to the end of the response. */
  readonly milliseconds: number
}

/** No response. */
export interface Silence {
  readonly status: undefined
  /** `timeout`: the connection was still open. `malformed`: the receiver sent something other than HTTP/1.1. */
  readonly problem: 'timeout' | 'closed' | 'malformed'
  readonly milliseconds: number
}

/** Maximum number of bytes to keep of a body. */
export const MAX_BODY = 65_536
/** Maximum number of characters of an excerpt. */
export const MAX_EXCERPT = 480

/** Returns the values of a header, joined as RFC 9110 section 5.2 does; undefined if it is missing. */
export function headerOf(reply: Reply, name: string): string | undefined {
  if (reply.status === undefined) return undefined
  const values = valuesOf(reply.headers, name)
  return values.length > 0 ? values.join(', ') : undefined
}

/** Returns true if the receiver closed the connection without a response. */
export const isClosed = (reply: Reply): boolean => reply.status === undefined && reply.problem === 'closed'

/** Returns true for 2xx, which senders count as success. */
export const isSuccess = ({ status }: Reply): boolean => isSuccessStatus(status)

/** Returns true for 4xx: the receiver has refused the request, and the sender is to blame. */
export const isRefusal = (reply: Reply): reply is ReceivedResponse =>
  reply.status !== undefined && reply.status >= 400 && reply.status < 500

/** What the end of a response means for the connection. */
interface ReadResult {
  readonly reply: Reply
  /** True if another response can follow on this connection. */
  readonly isReusable: boolean
}

/** Maximum number of header lines, and of their bytes. */
const MAX_HEADERS = 200
const MAX_HEAD = 65_536

/**
 * Reads one response (RFC 9112). Never throws on what a receiver sends.
 *
 * @param started time from which the reply's milliseconds count
 * @param hasBody false for the response to HEAD
 * @param hide hides the key in a text, and then cuts the text, because a part of the key would not be found
 */
export async function readResponse(
  reader: ByteReader,
  {
    started,
    deadline,
    hasBody,
    hide,
  }: { started: number; deadline: number; hasBody: boolean; hide: Redactor['text'] },
): Promise<ReadResult> {
  try {
    const { minor, status, headers } = await readHead(reader, deadline)
    const length = bodyLength(status, headers, hasBody)
    const body = await readBody(reader, length, deadline)
    const milliseconds = performance.now() - started
    const excerpt = hide(body.toString(), MAX_EXCERPT)
    const reply: ReceivedResponse = { status, headers, body, excerpt, milliseconds }
    const staysOpen =
      minor === 1 ? !hasToken(headers, 'connection', 'close') : hasToken(headers, 'connection', 'keep-alive')
    return { reply, isReusable: length !== Number.POSITIVE_INFINITY && staysOpen }
  } catch (error) {
    if (!(error instanceof ReadError)) throw error
    const milliseconds = performance.now() - started
    return { reply: { status: undefined, problem: error.end, milliseconds }, isReusable: false }
  }
}

async function readHead(
  reader: ByteReader,
  deadline: number,
): Promise<{ minor: number; status: number; headers: [string, string][] }> {
  const [, minor, status] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/.exec(await reader.readLine(deadline)) ?? []
  if (status === undefined) throw new ReadError('malformed')
  const headers: [string, string][] = []
  for (let length = 0; ; ) {
    const line = await reader.readLine(deadline)
    if (line === '') return { minor: Number(minor), status: Number(status), headers }
    length += line.length
    const colon = line.indexOf(':')
    if (colon <= 0 || headers.length === MAX_HEADERS || length > MAX_HEAD) throw new ReadError('malformed')
    headers.push([line.slice(0, colon), line.slice(colon + 1).trim()])
  }
}

type Length = number | 'chunked'

/** Returns the length of the body (RFC 9112 section 6.3); `Infinity` if the end of the connection ends it. */
function bodyLength(status: number, headers: ReceivedResponse['headers'], hasBody: boolean): Length {
  if (!hasBody || status < 200 || status === 204 || status === 304) return 0
  if (hasToken(headers, 'transfer-encoding', 'chunked')) return 'chunked'
  const [length, ...others] = valuesOf(headers, 'content-length')
  if (length === undefined) return Number.POSITIVE_INFINITY
  if (!/^\d{1,15}$/.test(length) || others.some((other) => other !== length)) throw new ReadError('malformed')
  return Number(length)
}

async function readBody(reader: ByteReader, length: Length, deadline: number): Promise<Buffer> {
  if (length !== 'chunked') return reader.readBytes(length, MAX_BODY, deadline)
  const chunks: Buffer[] = []
  let kept = 0
  for (;;) {
    const [, size] = /^([0-9a-f]{1,8})(?:[ \t]*;|[ \t]*$)/i.exec(await reader.readLine(deadline)) ?? []
    if (size === undefined) throw new ReadError('malformed')
    if (Number.parseInt(size, 16) === 0) break
    const chunk = await reader.readBytes(Number.parseInt(size, 16), MAX_BODY - kept, deadline)
    chunks.push(chunk)
    kept += chunk.length
    if ((await reader.readLine(deadline)) !== '') throw new ReadError('malformed')
  }
  while ((await reader.readLine(deadline)) !== '') {
    // trailers
  }
  return Buffer.concat(chunks)
}

const valuesOf = (headers: ReceivedResponse['headers'], name: string): string[] =>
  headers.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value)

const hasToken = (headers: ReceivedResponse['headers'], name: string, token: string): boolean =>
  valuesOf(headers, name)
    .flatMap((value) => value.toLowerCase().split(','))
    .some((part) => part.trim() === token)

/** Why a {@link ByteReader} did not get the wanted bytes. */
class ReadError extends Error {
  readonly end: Silence['problem']

  constructor(end: Silence['problem']) {
    super(end)
    this.end = end
  }
}

const MAX_LINE = 65_536
/** A receiver that sends more than this at once has to wait until it is read. */
const MAX_PENDING = 1_048_576

/** Reads from a socket as its bytes arrive. Its functions throw a {@link ReadError}. */
export class ByteReader {
  #pending: Buffer = Buffer.alloc(0)
  #isClosed = false
  #wake = (): void => {}
  readonly #socket: Socket

  constructor(socket: Socket) {
    this.#socket = socket
    const close = (): void => {
      this.#isClosed = true
      this.#wake()
    }
    socket.on('data', (chunk: Buffer) => {
      this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
      if (this.#pending.length > MAX_PENDING) socket.pause()
      this.#wake()
    })
    socket.once('end', close).once('close', close).once('error', close)
  }

  async #waitForMore(deadline: number): Promise<void> {
    if (this.#isClosed) throw new ReadError('closed')
    const left = deadline - performance.now()
    if (left <= 0) throw new ReadError('timeout')
    this.#socket.resume()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, left)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = () => {}
  }

  #take(count: number): Buffer {
    const taken = this.#pending.subarray(0, count)
    this.#pending = this.#pending.subarray(count)
    return taken
  }

  /** Reads up to and including a line feed, at most 64 KiB. */
  async readLine(deadline: number): Promise<string> {
    for (let from = 0; ; ) {
      const end = this.#pending.indexOf('\n', from)
      if ((end < 0 ? this.#pending.length : end) > MAX_LINE) throw new ReadError('malformed')
      if (end >= 0)
        return this.#take(end + 1)
          .toString('latin1')
          .replace(/\r?\n$/, '')
      from = this.#pending.length
      await this.#waitForMore(deadline)
    }
  }

  /** Reads exactly `count` bytes, or to the end of the connection for `Infinity`. Keeps the first `kept` bytes. */
  async readBytes(count: number, kept: number, deadline: number): Promise<Buffer> {
    const chunks: Buffer[] = []
    let length = 0
    while (length < count) {
      if (this.#pending.length === 0 && this.#isClosed && count === Number.POSITIVE_INFINITY) break
      if (this.#pending.length === 0) await this.#waitForMore(deadline)
      const chunk = this.#take(count - length)
      if (length < kept) chunks.push(chunk)
      length += chunk.length
    }
    return Buffer.concat(chunks).subarray(0, kept)
  }
}
