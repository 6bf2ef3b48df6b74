import type { IncomingMessage } from 'node:http'
import { CliError, EXIT, usageError } from '../errors.ts'

/** Headers as on the wire: in order, with those that come twice. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[]

export interface HttpRequest {
  method: string
  headers: HeaderPairs
  body: Uint8Array
}

export interface HttpAnswer {
  status: number
  headers: HeaderPairs
  body: Buffer
}

/** Bounds of one exchange: milliseconds until the answer is whole, and its bytes. */
export interface Bounds {
  /** Senders wait ten seconds; whoever tests may be slower. */
  timeout?: number
  limit?: number
  /** Ends it early. */
  stop?: AbortSignal | undefined
}

/**
 * Sends exactly these bytes with these headers. Redirects are not followed.
 *
 * @throws {CliError} exit code 3 where nobody is reached or no answer comes, 2 for headers that HTTP does not allow
 */
export async function exchange(
  url: URL,
  { method, headers, body }: HttpRequest,
  { timeout = 30_000, limit = 64 * 1024 * 1024, stop }: Bounds = {},
): Promise<HttpAnswer> {
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const timeOut = AbortSignal.timeout(timeout)
  const signal = stop ? AbortSignal.any([timeOut, stop]) : timeOut
  // As one list, so that names, order and what comes twice stay as they are. With its length, whatever the method is:
  // a body without one would be read as the next request.
  const flat = [['host', url.host], ...headers, ['content-length', String(body.length)]].flat()
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const req = request(url, { method, headers: flat, signal, agent: false })
      req.once('response', resolve).once('error', reject)
      req.once('upgrade', (_answer, socket) => {
        socket.destroy()
        reject(new Error('it answered with another protocol'))
      })
      req.end(body)
    })
    return {
      status: answer.statusCode ?? 0,
      headers: toPairs(answer.rawHeaders),
      body: await readAnswer(answer, limit),
    }
  } catch (error) {
    throw error instanceof CliError ? error : toUnreachable(error, url, timeOut.aborted ? timeout : undefined)
  }
}

async function readAnswer(answer: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > limit)
      throw new CliError(EXIT.no, 'answer_too_large', `the answer is larger than ${limit} bytes`)
  }
  return Buffer.concat(chunks)
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the connection was cut before the answer',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  HPE_INVALID_CONSTANT: 'what answers does not speak HTTP',
}

function toUnreachable(error: unknown, url: URL, timeout: number | undefined): CliError {
  const { code = '', message } = firstOf(error)
  if (/^ERR_(INVALID_CHAR|INVALID_HTTP_TOKEN|HTTP_INVALID_HEADER_VALUE|UNESCAPED_CHARACTERS)$/.test(code)) {
    return usageError(`the request cannot be written: ${message}`)
  }
  const why = timeout ? `no answer within ${timeout / 1000} s` : (REASONS[code] ?? (message || code))
  return new CliError(EXIT.unreachable, 'unreachable', `cannot reach ${url.origin}: ${why}`, hintFor(code))
}

/** Where no address of a name could be reached, Node has one error for each. */
function firstOf(error: unknown): NodeJS.ErrnoException {
  return error instanceof AggregateError ? firstOf(error.errors[0]) : (error as NodeJS.ErrnoException)
}

const hintFor = (code: string): string =>
  code === 'ECONNREFUSED' ? 'Is it started, and is the port right?' : 'Check the address.'

/** What Node gives as one flat list. */
export function toPairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) =>
    index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : [],
  )
}

/** About one connection only (RFC 9110 section 7.6.1), or made anew for the next one. */
const HOP_BY_HOP =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length)$/i

/**
 * The headers that go on to another host. What `connection` names besides is kept: a stranger on the way could name the
 * signature.
 */
export const endToEnd = (headers: HeaderPairs): HeaderPairs =>
  headers.filter(([name]) => !HOP_BY_HOP.test(name))
