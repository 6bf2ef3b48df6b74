import type { Redactor } from '../../shared/redact.ts'
import { type ByteReader, ReadError } from './byte-reader.ts'
import { MAX_BODY, MAX_EXCERPT, type ReceivedResponse, type Reply, type Silence } from './reply.ts'

/** What the end of a response means for the connection. */
export interface ReadResult {
  readonly reply: Reply
  /** True if another response can follow on this connection. */
  readonly isReusable: boolean
}

type Hide = Redactor['text']

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
  { started, deadline, hasBody, hide }: { started: number; deadline: number; hasBody: boolean; hide: Hide },
): Promise<ReadResult> {
  const silence = (problem: Silence['problem']): ReadResult => ({
    reply: { status: undefined, problem, milliseconds: performance.now() - started },
    isReusable: false,
  })
  try {
    const { minor, status, headers } = await readHead(reader, deadline)
    const length = bodyLength(status, headers, hasBody)
    const body = await readBody(reader, length, deadline)
    const milliseconds = performance.now() - started
    const excerpt = hide(body.toString(), MAX_EXCERPT)
    const reply: ReceivedResponse = { status, headers, body, excerpt, milliseconds }
    const staysOpen =
      minor === 1 ? !hasToken(headers, 'connection', 'close') : hasToken(headers, 'connection', 'keep-alive')
    return { reply, isReusable: length !== 'rest' && staysOpen }
  } catch (error) {
    if (error instanceof ReadError) return silence(error.end)
    throw error
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

type Length = number | 'chunked' | 'rest'

/** Returns how the end of the body is found (RFC 9112 section 6.3). */
function bodyLength(status: number, headers: readonly [string, string][], hasBody: boolean): Length {
  if (!hasBody || status < 200 || status === 204 || status === 304) return 0
  if (hasToken(headers, 'transfer-encoding', 'chunked')) return 'chunked'
  const [length, ...others] = valuesOf(headers, 'content-length')
  if (length === undefined) return 'rest'
  if (!/^\d{1,15}$/.test(length) || others.some((other) => other !== length)) throw new ReadError('malformed')
  return Number(length)
}

async function readBody(reader: ByteReader, length: Length, deadline: number): Promise<Buffer> {
  if (length === 'rest') return reader.readToEnd(MAX_BODY, deadline)
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

const valuesOf = (headers: readonly [string, string][], name: string): string[] =>
  headers.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value)

const hasToken = (headers: readonly [string, string][], name: string, token: string): boolean =>
  valuesOf(headers, name)
    .flatMap((value) => value.toLowerCase().split(','))
    .some((part) => part.trim() === token)
