import { Agent, type Dispatcher } from 'undici'
import { describeCertificateError } from '../../shared/certificate-errors.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import type { RawRequest } from '../../testing/signer.ts'
import { isLoopback, toHostname } from '../http/server.ts'
import { createConnector } from './tls-connector.ts'

/** A receiver's response. */
export interface Answer {
  readonly status: number
  readonly headers: AnswerHeaders
  /** The first 64 KiB, as text. */
  readonly body: string
}

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Returns a frozen object, so that callers cannot change the response in the log. */
export const toAnswer = (status: number, headers: AnswerHeaders, body: string): Answer =>
  Object.freeze({ status, headers: Object.freeze(headers), body })

/** A parsed payload URL. */
export interface Target {
  hookUrl: string
  origin: string
  /** Path and query. */
  path: string
  /** Value of the `host` header. */
  host: string
  /** True if the host is this machine or one of `allowHosts`. */
  isAllowed: boolean
}

export function toTarget(hookUrl: string, allowHosts: readonly string[]): Target {
  const { origin, pathname, search, host, hostname } = new URL(hookUrl)
  const isAllowed = isLoopback(hostname) || allowHosts.some((allowed) => toHostname(allowed) === hostname)
  return { hookUrl, origin, path: pathname + search, host, isAllowed }
}

/** A delivery, or a handshake. */
export type OutgoingRequest = Omit<RawRequest, 'method'> & { method: 'GET' | 'POST' }

/** Options of {@link HttpClient.send}. */
interface SendOptions {
  /** Timeout in seconds, from connecting to the last byte of the response. */
  seconds: number
  /** True to close the connection when the response begins. */
  losesAnswer: boolean
}

/** Sends requests over connections that are kept open. It follows no redirects. */
export interface HttpClient {
  send(target: Target, request: OutgoingRequest, options: SendOptions): Promise<Answer>
  close(): Promise<void>
}

/**
 * @param concurrency maximum number of requests in flight
 * @param trust default: Node's own CAs
 */
export function createHttpClient(concurrency: number, trust?: Trust): HttpClient {
  // Allows one spare connection per receiver, in case another connection cannot be established. Disables undici's own
  // timeouts, because each request has a shorter timeout.
  const agent = new Agent({
    connections: concurrency + 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(trust && { connect: createConnector(trust) }),
  })

  return {
    send: (target, request, options) =>
      new Promise((resolve, reject) => dispatch(agent, target, request, options, resolve, reject)),
    close: () => agent.destroy(),
  }
}

/** Uses undici's `dispatch`: it costs half as much as `request`, and can be aborted while waiting for a connection. */
function dispatch(
  agent: Agent,
  { origin, path }: Target,
  { method, headers, body }: OutgoingRequest,
  { seconds, losesAnswer }: SendOptions,
  resolve: (answer: Answer) => void,
  reject: (error: unknown) => void,
): void {
  const text = createTextReader()
  const response = { status: 0, headers: {} as AnswerHeaders }
  let controller: Dispatcher.DispatchController | undefined
  let failure: Error | undefined

  const timer = setTimeout(() => fail(timeoutError(seconds)), seconds * 1000)

  function fail(error: Error): void {
    clearTimeout(timer)
    reject(toSendError(error, origin))
    failure = error
    controller?.abort(error)
  }

  function succeed(): void {
    clearTimeout(timer)
    resolve(toAnswer(response.status, response.headers, text.end()))
  }

  agent.dispatch(
    { origin, path, method, headers, body },
    {
      onRequestStart(requestController) {
        controller = requestController
        if (failure) controller.abort(failure)
      },
      onResponseStart(_controller, status, headers) {
        if (losesAnswer && status >= 200) fail(new Error('the answer was lost'))
        Object.assign(response, { status, headers })
      },
      onResponseData(_controller, chunk) {
        if (text.add(chunk)) return
        succeed()
        controller?.abort(new Error('the rest of the answer is not read'))
      },
      onResponseEnd: succeed,
      onResponseError: (_controller, error) => fail(error),
    },
  )
}

/** Describes the problem if the error is about the receiver's certificate. */
export function toSendError(error: unknown, origin: string): unknown {
  const problem = describeCertificateError(error, origin)
  return problem === undefined ? error : new Error(problem, { cause: error })
}

export const timeoutError = (seconds: number): Error => new Error(`no answer within ${seconds} s`)

/** Maximum number of bytes that are read of a response. */
export const MAX_ANSWER: number = 64 * 1024

/** Collects the first 64 KiB of a response. */
interface TextReader {
  /** @returns false if no more chunks are needed */
  add(chunk: Buffer): boolean
  end(): string
}

export function createTextReader(): TextReader {
  const chunks: Buffer[] = []
  let bytes = 0
  return {
    add(chunk) {
      chunks.push(chunk)
      bytes += chunk.length
      return bytes < MAX_ANSWER
    },
    end: () => Buffer.concat(chunks).subarray(0, MAX_ANSWER).toString(),
  }
}
