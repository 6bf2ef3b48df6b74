import { Agent } from 'undici'
import type { SignedRequest } from '../../testing/signer.ts'
import { isLoopback, toHostname } from '../http/hosts.ts'

/** A receiver's response. */
export interface Answer {
  readonly status: number
  readonly headers: AnswerHeaders
  /** The first 64 KiB, as text. */
  readonly body: string
}

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Frozen, so that the log keeps what the receiver sent. */
export const toAnswer = (status: number, headers: AnswerHeaders, body: string): Answer =>
  Object.freeze({ status, headers: Object.freeze(headers), body })

/** A payload URL in parts. */
export interface Target {
  hookUrl: string
  origin: string
  /** With the query. */
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

/** Options of {@link HttpClient.send}. */
export interface SendOptions {
  /** Timeout in seconds, from connecting to the last byte of the response. */
  seconds: number
  /** Closes the connection when the response begins. */
  losesAnswer: boolean
}

/** Sends requests over connections that are kept open. It follows no redirects. */
export interface HttpClient {
  send(target: Target, request: SignedRequest, options: SendOptions): Promise<Answer>
  close(): Promise<void>
}

export function createHttpClient(): HttpClient {
  // Each request has its own, shorter timeout.
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })

  async function exchange(
    { origin, path }: Target,
    { method, headers, body }: SignedRequest,
    losesAnswer: boolean,
    signal: AbortSignal,
  ): Promise<Answer> {
    const response = await agent.request({ origin, path, method, headers, body, signal })
    if (losesAnswer) {
      response.body.on('error', () => {}).destroy()
      throw new Error('the answer was lost')
    }
    return toAnswer(response.statusCode, response.headers, await readText(response.body))
  }

  return {
    async send(target, request, { seconds, losesAnswer }) {
      const controller = new AbortController()
      let timer: NodeJS.Timeout | undefined
      const timeout = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => {
          reject(timeoutError(seconds))
          controller.abort()
        }, seconds * 1000)
      })
      try {
        // The signal does not end the wait for a connection.
        return await Promise.race([exchange(target, request, losesAnswer, controller.signal), timeout])
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => agent.destroy(),
  }
}

export const timeoutError = (seconds: number): Error => new Error(`no answer within ${seconds} s`)

const MAX_BYTES = 64 * 1024

/** Reads the first 64 KiB of a response, and cancels the rest. */
export async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= MAX_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, MAX_BYTES).toString()
}
