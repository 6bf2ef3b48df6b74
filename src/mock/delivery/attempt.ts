import { randomUUID } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { SignedRequest } from '../../testing/signer.ts'
import type { Clock } from '../clock.ts'
import type { Attempt } from './attempts.ts'
import { isBroken, lengthOf, sendBroken } from './broken.ts'
import type { Fault } from './faults.ts'
import { type Answer, mayReach, send, sendAndLoseAnswer } from './send.ts'

/** One delivery: a request that is sent until it succeeds, or its attempts are spent. */
export interface Delivery {
  id: string
  webhookId: string
  hookUrl: string
  request: SignedRequest
  fault: Readonly<Fault> | undefined
}

/** What an attempt needs. */
export interface AttemptOptions {
  clock: Clock
  dispatcher: Dispatcher
  allowHosts: readonly string[]
  /** How long it may take. */
  seconds: number
  isClosed(): boolean
  record(attempt: Attempt): void
}

/** Makes one attempt. It never rejects: what happens stands in the attempt. */
export async function attempt(
  delivery: Delivery,
  number: number,
  { clock, dispatcher, allowHosts, seconds, isClosed, record }: AttemptOptions,
): Promise<Attempt> {
  const { id: deliveryId, webhookId, hookUrl, fault } = delivery
  const made: Attempt = {
    id: randomUUID(),
    deliveryId,
    webhookId,
    number,
    hookUrl,
    sentAt: clock.now(),
    request: asSent(delivery, number),
    ...(fault ? { fault: fault.fault } : {}),
  }
  record(made)
  const started = performance.now()
  // The network takes its own time, whatever the clock of the service says.
  const signal = AbortSignal.timeout(seconds * 1000)
  try {
    if (isClosed()) throw new Error(CLOSED)
    if (!mayReach(hookUrl, allowHosts)) throw new Error(HOST_REFUSED)
    const wrote = (bytes: number): void => {
      made.bytesSent = (made.bytesSent ?? 0) + bytes
    }
    made.answer = await transmit(delivery, number, { dispatcher, signal, wrote })
  } catch (error) {
    made.error = signal.aborted ? `no answer within ${seconds} s` : messageOf(error)
  }
  made.milliseconds = Math.round(performance.now() - started)
  return made
}

export const CLOSED = 'the mock service is closed'
export const HOST_REFUSED = 'the host is not on this machine and not in allowHosts'

/** With the headers that the connection needs. */
function asSent({ hookUrl, request, fault }: Delivery, number: number): SignedRequest {
  const length = lengthOf(request.body, number === 1 ? fault?.fault : undefined)
  const { host } = new URL(hookUrl)
  return { ...request, headers: { host, ...request.headers, 'content-length': String(length) } }
}

/** Faults of the connection are those of the first attempt, so that the next can succeed. */
function transmit(
  { hookUrl, request, fault }: Delivery,
  number: number,
  options: { dispatcher: Dispatcher; signal: AbortSignal; wrote(bytes: number): void },
): Promise<Answer> {
  if (number === 1 && isBroken(fault?.fault))
    return sendBroken(hookUrl, request, { ...options, fault: fault.fault, delay: fault.delay })
  if (number === 1 && fault?.fault === 'answer_lost') return sendAndLoseAnswer(hookUrl, request, options)
  return send(hookUrl, request, options)
}

/** Any 2xx: which status counts is not shown, and every published sample answers 200. */
export const succeeded = ({ answer }: Attempt): boolean =>
  answer !== undefined && answer.status >= 200 && answer.status < 300

/** The message; where no address of a name could be reached, Node leaves it empty and has one for each address. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
