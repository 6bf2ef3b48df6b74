import { randomUUID } from 'node:crypto'
import { isSuccess } from '../../shared/status.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import type { RawRequest } from '../../testing/signer.ts'
import type { Clock } from '../clock.ts'
import type { Fault, FaultName } from '../faults/faults.ts'
import type { Webhook } from '../state/webhooks.ts'
import { contentLengthOf, isConnectionFault, sendWithConnectionFault } from './connection-faults.ts'
import type { Answer, HttpClient, Target } from './http-client.ts'

/** One attempt to send a delivery. */
export interface Attempt {
  id: string
  /** Id shared by all attempts of one delivery. */
  deliveryId: string
  webhookId: string
  /** Number of the attempt within its delivery, from 1. */
  number: number
  hookUrl: string
  /** Milliseconds since 1970. */
  sentAt: number
  /** The request as sent, with `host` and `content-length`. */
  request: RawRequest
  /** Number of body bytes sent; present only for a connection fault. */
  bytesSent?: number
  /** The receiver's response; absent if the attempt failed without one. */
  answer?: Answer
  /** Reason why the attempt has no response. */
  error?: string
  /** Duration in milliseconds; absent while the attempt is in flight. */
  milliseconds?: number
  /** The injected fault, if any. */
  fault?: FaultName
}

/** One page of the attempt log. */
interface AttemptPage {
  attempts: readonly Attempt[]
  /** Value of `after` for the next page; undefined on the last page. */
  next: string | undefined
}

/** The last thousand attempts, oldest first. */
export interface AttemptLog {
  /** @returns a new array */
  list(): Attempt[]
  add(attempt: Attempt): void
  get(id: string): Attempt | undefined
  /** @returns undefined if no attempt has the id `after` */
  page(query: {
    limit: number
    after?: string | undefined
    webhookId?: string | undefined
  }): AttemptPage | undefined
  clear(): void
}

const MAX_ATTEMPTS = 1000

export function createAttemptLog(): AttemptLog {
  const log: Attempt[] = []

  return {
    list: () => [...log],
    add(attempt) {
      log.push(attempt)
      if (log.length > MAX_ATTEMPTS) log.shift()
    },
    get: (id) => log.find((attempt) => attempt.id === id),
    page({ limit, after, webhookId }) {
      const start = after === undefined ? 0 : log.findIndex(({ id }) => id === after) + 1
      if (start === 0 && after !== undefined) return undefined
      const rest = log
        .slice(start)
        .filter((attempt) => webhookId === undefined || attempt.webhookId === webhookId)
      const attempts = rest.slice(0, limit)
      return { attempts, next: rest.length > limit ? attempts.at(-1)?.id : undefined }
    },
    clear() {
      log.length = 0
    },
  }
}

/** What is remembered of a delivery besides its attempts: its webhook may be edited or deleted later. */
export interface DeliveryRecord {
  /** The webhook as it was when the delivery was sent. Contains its key. */
  readonly webhook: Readonly<Webhook>
  /** The body before it was signed, and before a fault changed it. */
  readonly payload: Uint8Array
  /** Content type of the payload. */
  readonly contentType: string
}

/** The records of the thousand deliveries with the latest attempts. They include every delivery in the attempt log. */
export interface DeliveryRecords {
  get(deliveryId: string): DeliveryRecord | undefined
  list(): DeliveryRecord[]
  /** Called when an attempt of the delivery begins. */
  put(deliveryId: string, record: DeliveryRecord): void
}

/** The attempt log has as many attempts, so it cannot have more deliveries. */
const MAX_RECORDS = 1000

export function createDeliveryRecords(): DeliveryRecords {
  const records = new Map<string, DeliveryRecord>()
  return {
    get: (deliveryId) => records.get(deliveryId),
    list: () => [...records.values()],
    put(deliveryId, record) {
      records.delete(deliveryId)
      records.set(deliveryId, record)
      const [oldest] = records.keys()
      if (records.size > MAX_RECORDS && oldest !== undefined) records.delete(oldest)
    },
  }
}

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
  return client.send(target, request, seconds, isFirst && fault?.fault === 'answer_lost')
}

export const hasSucceeded = ({ answer }: Attempt): boolean => isSuccess(answer?.status)

/** If every address of a host name fails, Node throws an AggregateError without a message. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

/** Runs a task immediately if fewer than the maximum are running; otherwise queues it. */
type ConcurrencyLimit = <T>(task: () => Promise<T>) => Promise<T>

export function createConcurrencyLimit(maximum: number): ConcurrencyLimit {
  const queue: (() => void)[] = []
  let running = 0

  return async (task) => {
    if (running < maximum) running += 1
    else await new Promise<void>((resolve) => queue.push(resolve))
    try {
      return await task()
    } finally {
      // Passes the slot of the finished task to the next one in the queue.
      const startNext = queue.shift()
      if (startNext) startNext()
      else running -= 1
    }
  }
}
