import { randomUUID } from 'node:crypto'
import type { Trust } from '../../adapters/tls-trust.ts'
import type { RawRequest } from '../../testing/signer.ts'
import type { Clock } from '../clock/clock.ts'
import type { Fault } from '../faults/faults.ts'
import type { Attempt } from './attempt-log.ts'
import { contentLengthOf, isConnectionFault, sendWithConnectionFault } from './connection-faults.ts'
import type { DeliveryRecord } from './delivery-records.ts'
import type { Answer, HttpClient, Target } from './http-client.ts'

/** One delivery: a request with up to the maximum number of attempts. */
export interface OutgoingDelivery {
  id: string
  webhookId: string
  target: Target
  request: RawRequest
  fault: Readonly<Fault> | undefined
  record: DeliveryRecord | undefined
}

/** Dependencies of {@link makeAttempt}. */
export interface AttemptContext {
  clock: Clock
  client: HttpClient
  /** The CAs to trust. Default: Node's own. */
  trust: Trust | undefined
  isClosed(): boolean
  /** Called when an attempt begins. */
  began(attempt: Attempt, delivery: OutgoingDelivery): void
  /** Called when an attempt has ended. */
  finished(attempt: Attempt): void
}

/** Errors of attempts whose request was not sent. Such attempts are not retried, because a retry would fail as well. */
export const CLOSED = 'the mock service is closed'
export const HOST_REFUSED = 'the host is not on this machine and not in allowHosts'

/**
 * Makes one attempt. Never rejects: failures are recorded in the attempt.
 *
 * @param seconds timeout
 */
export async function makeAttempt(
  delivery: OutgoingDelivery,
  number: number,
  seconds: number,
  context: AttemptContext,
): Promise<Attempt> {
  const { id: deliveryId, webhookId, target, fault } = delivery
  const attempt: Attempt = {
    id: randomUUID(),
    deliveryId,
    webhookId,
    number,
    hookUrl: target.hookUrl,
    sentAt: context.clock.now(),
    request: withConnectionHeaders(delivery, number),
  }
  if (fault) attempt.fault = fault.fault
  context.began(attempt, delivery)
  const started = performance.now()
  try {
    attempt.answer = await send(delivery, attempt, seconds, context)
  } catch (error) {
    attempt.error = messageOf(error)
  }
  attempt.milliseconds = Math.round(performance.now() - started)
  context.finished(attempt)
  return attempt
}

function withConnectionHeaders({ target, request, fault }: OutgoingDelivery, number: number): RawRequest {
  const { method, headers, body } = request
  const length = contentLengthOf(body, number === 1 ? fault?.fault : undefined)
  return { method, headers: { host: target.host, ...headers, 'content-length': String(length) }, body }
}

/** Sends the request. Connection faults apply to the first attempt only, so that a retry can succeed. */
async function send(
  { target, request, fault }: OutgoingDelivery,
  attempt: Attempt,
  seconds: number,
  { client, trust, isClosed }: AttemptContext,
): Promise<Answer> {
  if (isClosed()) throw new Error(CLOSED)
  if (!target.isAllowed) throw new Error(HOST_REFUSED)
  const isFirst = attempt.number === 1
  if (isFirst && isConnectionFault(fault?.fault)) {
    const onWrite = (bytes: number): void => {
      attempt.bytesSent = (attempt.bytesSent ?? 0) + bytes
    }
    return sendWithConnectionFault(target, request, {
      fault: fault.fault,
      delay: fault.delay,
      seconds,
      trust,
      onWrite,
    })
  }
  return client.send(target, request, { seconds, losesAnswer: isFirst && fault?.fault === 'answer_lost' })
}

/** True for any 2xx status (docs/decisions.md). */
export const isSuccess = ({ answer }: Attempt): boolean =>
  answer !== undefined && answer.status >= 200 && answer.status < 300

/** If every address of a host name fails, Node throws an AggregateError without a message. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
