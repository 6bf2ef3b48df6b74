import { type Dispatcher, request } from 'undici'
import type { SignedRequest } from '../../testing/signer.ts'
import { isLoopback } from '../loopback.ts'

/** What the receiver answered. */
export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** At most 64 KiB of it, as text. */
  body: string
}

/** What {@link send} takes beside the request. */
export interface SendOptions {
  dispatcher: Dispatcher
  /** Ends the attempt. */
  signal: AbortSignal
}

const MAX_ANSWER = 64 * 1024

/** Sends one attempt, and reads its answer. Redirects are not followed. */
export async function send(
  url: string,
  { headers, body }: SignedRequest,
  { dispatcher, signal }: SendOptions,
): Promise<Answer> {
  const response = await request(url, { method: 'POST', headers, body, dispatcher, signal })
  return { status: response.statusCode, headers: response.headers, body: await readText(response.body) }
}

/** Sends one attempt, and hangs up when the answer begins. */
export async function sendAndLoseAnswer(
  url: string,
  { headers, body }: SignedRequest,
  { dispatcher, signal }: SendOptions,
): Promise<never> {
  const response = await request(url, { method: 'POST', headers, body, dispatcher, signal })
  response.body.on('error', () => {}).destroy()
  throw new Error('the answer was lost')
}

/** At most 64 KiB of an answer. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk.subarray(0, MAX_ANSWER - length))
    length += chunk.length
    if (length >= MAX_ANSWER) break
  }
  return Buffer.concat(chunks).toString()
}

/** Whether a delivery may go there: to this machine, or to a host that was allowed by name. */
export function mayReach(url: string, allowHosts: readonly string[]): boolean {
  const { hostname } = new URL(url)
  return isLoopback(hostname) || allowHosts.some((host) => host.toLowerCase() === hostname)
}
