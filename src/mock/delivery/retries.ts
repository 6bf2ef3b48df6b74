import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { createConnections } from '../../shared/http.node.ts'
import type { RawRequest } from '../../testing/signer.ts'
import type { Clock } from '../clock.ts'
import type { Fault } from '../faults/faults.ts'
import type { ResolvedOptions } from '../options.ts'
import type { DeliverySettings } from '../schemas.ts'
import { type Attempt, type DeliveryRecord, hasSucceeded, messageOf } from './attempt.ts'
import { contentLengthOf, sendWithConnectionFault } from './connection-faults.ts'
import { type Answer, type OutgoingRequest, sendRequest, type Target } from './http-client.ts'

/** One delivery: a request with up to the maximum number of attempts. */
export interface OutgoingDelivery {
  id: string
  webhookId: string
  target: Target
  request: RawRequest
  fault: Readonly<Fault> | undefined
  record: DeliveryRecord | undefined
}

const DELAYED_MS = 5_000
const REORDERED_MS = 10_000

/** Holds back deliveries that have the fault `delayed` or `reordered`. */
function createHoldBack(clock: Clock) {
  /** By webhook id: the delivery that is held back until a later one is sent. */
  const reordered = new Map<string, { place: number; release(): void }>()
  let places = 0

  return {
    /** Returns the sequence number (`place`) for a new delivery, starting at 1. */
    nextPlace: () => ++places,
    /** Resolves when a delivery may be sent: immediately unless its fault is `delayed` or `reordered`. */
    async wait(webhookId: string, place: number, { fault, delay }: Readonly<Fault>, signal: AbortSignal) {
      if (fault === 'delayed') await waitUnlessAborted(clock, delay ?? DELAYED_MS, signal)
      // Holds back only one delivery of a webhook, because holding back two would not change their order.
      if (fault !== 'reordered' || reordered.has(webhookId)) return
      const laterSent = new AbortController()
      const held = { place, release: () => laterSent.abort() }
      reordered.set(webhookId, held)
      await waitUnlessAborted(clock, delay ?? REORDERED_MS, AbortSignal.any([laterSent.signal, signal]))
      if (reordered.get(webhookId) === held) reordered.delete(webhookId)
    },
    /** Reports that a delivery was sent. Releases the webhook's held-back `reordered` delivery if its place is lower. */
    sent(webhookId: string, place: number) {
      const held = reordered.get(webhookId)
      if (held && place > held.place) held.release()
    },
  }
}

/** @returns false if the signal was aborted before the time elapsed */
const waitUnlessAborted = (clock: Clock, milliseconds: number, signal: AbortSignal): Promise<boolean> =>
  clock.wait(milliseconds, signal).then(
    () => true,
    () => false,
  )

/** The state of the service that deliveries depend on, and callbacks for their progress. */
interface RetriesHost {
  settings(): DeliverySettings
  /** False for a webhook that was deleted or deactivated. Remaining attempts for such a webhook are skipped. */
  isActive(webhookId: string): boolean
  /** Called when an attempt begins. */
  began(attempt: Attempt, delivery: OutgoingDelivery): void
  /** Called when an attempt has ended. */
  finished(attempt: Attempt): void
  /** Called when a delivery has ended. */
  ended(webhookId: string, result: DeliveryResult): void
}

/** Result of a delivery: `abandoned` if it has not succeeded and its remaining attempts are skipped. */
export type DeliveryResult = 'succeeded' | 'failed' | 'abandoned'

/** Sends deliveries, and retries those that fail. */
export interface Retries {
  /** @returns all attempts, once the last has ended */
  deliver(delivery: Omit<OutgoingDelivery, 'request'>, request: Promise<RawRequest>): Promise<Attempt[]>
  /**
   * Makes one attempt, even if the webhook was changed, deactivated or deleted.
   *
   * @param number returns the number of the attempt. Called when the attempt begins, because other attempts of the same
   *   delivery may begin before it
   */
  resend(delivery: OutgoingDelivery, number: () => number): Promise<Attempt>
  /**
   * Sends a request that is not a delivery, within the limit of attempts in flight.
   *
   * @throws {Error} if there is no response within this number of seconds, if the host is not allowed, or if the service
   *   is closed ({@link CLOSED})
   */
  send(target: Target, request: OutgoingRequest, seconds: number): Promise<Answer>
  /** Drops all current deliveries: those in flight are not retried, the others are not sent. */
  abandon(): void
  /** Ends all waits: sends deliveries that are held back, and stops all retries. */
  stop(): void
  /** Closes the connections. */
  close(): void
}

const ABANDONED = 'abandoned'
/** Errors of attempts whose request was not sent. Such attempts are not retried, because a retry would fail as well. */
export const CLOSED = 'the mock service is closed'
const HOST_REFUSED = 'the host is not on this machine and not in allowHosts'
const NEVER_SENT: readonly unknown[] = [HOST_REFUSED, CLOSED]

export function createRetries(
  { clock, concurrency, trust }: ResolvedOptions,
  { settings, isActive, began, finished, ended }: RetriesHost,
): Retries {
  const connections = createConnections(trust)
  const limit = createConcurrencyLimit(concurrency)
  const holdBack = createHoldBack(clock)
  /** Aborted to end the waits of all current deliveries; `abandon` then creates a new controller. */
  let waits = createAbortController()
  let isClosed = false

  const isDue = ({ webhookId }: OutgoingDelivery, signal: AbortSignal): boolean =>
    signal.reason !== ABANDONED && isActive(webhookId)

  function requireSendable({ isAllowed }: Target): void {
    if (isClosed) throw new Error(CLOSED)
    if (!isAllowed) throw new Error(HOST_REFUSED)
  }

  /** Makes one attempt. Never rejects: failures are recorded in the attempt. */
  async function makeAttempt(delivery: OutgoingDelivery, number: number): Promise<Attempt> {
    const { id: deliveryId, webhookId, target, fault } = delivery
    const attempt: Attempt = {
      id: randomUUID(),
      deliveryId,
      webhookId,
      number,
      hookUrl: target.hookUrl,
      sentAt: clock.now(),
      request: withConnectionHeaders(delivery, number),
    }
    if (fault) attempt.fault = fault.fault
    began(attempt, delivery)
    const started = performance.now()
    try {
      attempt.answer = await sendAttempt(delivery, attempt)
    } catch (error) {
      attempt.error = messageOf(error)
    }
    attempt.milliseconds = Math.round(performance.now() - started)
    finished(attempt)
    return attempt
  }

  /** Sends the request. Connection faults apply to the first attempt only, so that a retry can succeed. */
  async function sendAttempt(
    { target, request, fault }: OutgoingDelivery,
    attempt: Attempt,
  ): Promise<Answer> {
    requireSendable(target)
    const seconds = settings().notificationTimeOutInSeconds
    if (attempt.number !== 1 || !fault) return sendRequest(connections, target, request, seconds)
    const onWrite = (bytes: number): void => {
      attempt.bytesSent = (attempt.bytesSent ?? 0) + bytes
    }
    return (
      sendWithConnectionFault(target, request, fault, seconds, trust, onWrite) ??
      sendRequest(connections, target, request, seconds, fault.fault === 'answer_lost')
    )
  }

  function begin(delivery: OutgoingDelivery, number: number): Promise<Attempt> {
    const attempt = makeAttempt(delivery, number)
    clock.during?.(attempt)
    return attempt
  }

  /** @returns the attempt, or an empty list if the delivery was dropped while it was queued */
  const attemptIfDue = (
    delivery: OutgoingDelivery,
    number: number,
    signal: AbortSignal,
  ): Promise<Attempt[]> => limit(async () => (isDue(delivery, signal) ? [await begin(delivery, number)] : []))

  /** Makes the first attempt of a delivery. With the fault `two_at_once`, makes two attempts at the same time. */
  async function sendFirst(
    delivery: OutgoingDelivery,
    place: number,
    signal: AbortSignal,
  ): Promise<Attempt[]> {
    const { webhookId, fault } = delivery
    if (fault) await holdBack.wait(webhookId, place, fault, signal)
    const first = attemptIfDue(delivery, 1, signal)
    if (fault?.fault !== 'two_at_once') return first
    const second = attemptIfDue(delivery, 2, signal)
    return (await Promise.all([first, second])).flat()
  }

  /** @returns undefined if the delivery must be retried */
  function resultOf(
    delivery: OutgoingDelivery,
    attempts: readonly Attempt[],
    signal: AbortSignal,
  ): DeliveryResult | undefined {
    if (attempts.some(hasSucceeded)) return 'succeeded'
    if (!isDue(delivery, signal) || NEVER_SENT.includes(attempts.at(-1)?.error)) return 'abandoned'
    return attempts.length < settings().notificationAttempts ? undefined : 'failed'
  }

  /** Makes further attempts until the result of the delivery is known. Appends them to `attempts`. */
  async function retry(
    delivery: OutgoingDelivery,
    attempts: Attempt[],
    signal: AbortSignal,
  ): Promise<DeliveryResult> {
    for (;;) {
      const result = resultOf(delivery, attempts, signal)
      if (result) return result
      const gap = settings().notificationElapsedTimeInSeconds * 1000
      if (!(await waitUnlessAborted(clock, gap, signal))) return 'abandoned'
      attempts.push(...(await attemptIfDue(delivery, attempts.length + 1, signal)))
    }
  }

  return {
    async deliver(message, request) {
      const place = holdBack.nextPlace()
      const { signal } = waits
      const delivery: OutgoingDelivery = { request: await request, ...message }
      const { webhookId, fault } = delivery
      const attempts = await sendFirst(delivery, place, signal)
      holdBack.sent(webhookId, place)
      const result = await retry(delivery, attempts, signal)
      if (fault?.fault === 'duplicate' && result === 'succeeded')
        attempts.push(...(await attemptIfDue(delivery, attempts.length + 1, signal)))
      ended(webhookId, result)
      return attempts
    },
    resend: (delivery, number) => limit(() => begin(delivery, number())),
    send: (target, request, seconds) =>
      limit(async () => {
        requireSendable(target)
        return sendRequest(connections, target, request, seconds)
      }),
    abandon() {
      waits.abort(ABANDONED)
      waits = createAbortController()
    },
    stop: () => waits.abort(),
    close() {
      isClosed = true
      connections.close()
    },
  }
}

/** Creates a controller without Node's limit of ten listeners, because any number of deliveries may listen. */
function createAbortController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

function withConnectionHeaders({ target, request, fault }: OutgoingDelivery, number: number): RawRequest {
  const { method, headers, body } = request
  const length = contentLengthOf(body, number === 1 ? fault?.fault : undefined)
  return { method, headers: { host: target.host, ...headers, 'content-length': String(length) }, body }
}

/** Returns a function that runs a task immediately if fewer than the maximum are running; otherwise it queues the task. */
function createConcurrencyLimit(maximum: number) {
  const queue: (() => void)[] = []
  let running = 0

  return async <T>(task: () => Promise<T>): Promise<T> => {
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
