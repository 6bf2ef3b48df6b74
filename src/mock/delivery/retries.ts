import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { type Connections, createConnections } from '../../shared/http.node.ts'
import type { RawRequest } from '../../testing/signer.ts'
import type { Clock } from '../clock.ts'
import type { Listeners } from '../event-listeners.ts'
import type { Fault } from '../faults/faults.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Answer, Attempt } from '../state/records.ts'
import type { State } from '../state/snapshot.ts'
import type { Webhook } from '../state/webhooks.ts'
import { has } from '../versions.ts'
import { AttemptLog, type AttemptRecord, hasSucceeded, messageOf } from './attempt.ts'
import { writerOf } from './connection-faults.ts'
import { isAllowed, type OutgoingRequest, sendRequest } from './http-client.ts'

/** One delivery: a request with up to the maximum number of attempts. */
export interface OutgoingDelivery {
  id: string
  webhookId: string
  hookUrl: string
  /** `content-length` is set for each attempt, and `host` unless the request has one. */
  request: RawRequest
  fault?: Readonly<Fault> | undefined
  record: AttemptRecord | undefined
}

/** Writes the request of a delivery with this webhook. */
type WriteRequest = (
  webhook: Readonly<Webhook>,
) => Promise<Pick<OutgoingDelivery, 'hookUrl' | 'request' | 'record'>>

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

/** Result of a delivery: `abandoned` if it has not succeeded and its remaining attempts are skipped. */
export type DeliveryResult = 'succeeded' | 'failed' | 'abandoned'

const ABANDONED = 'abandoned'
/** Errors of attempts whose request was not sent. Such attempts are not retried, because a retry would fail as well. */
export const CLOSED = 'the mock service is closed'
const HOST_REFUSED = 'the host is not on this machine and not in allowHosts'
const NEVER_SENT: readonly unknown[] = [HOST_REFUSED, CLOSED]

/** The listeners of a mock service, and those of its inspector. */
export interface Reports {
  readonly listeners: Listeners
  readonly changes: Listeners<string | undefined>
}

/** Sends deliveries, and retries those that fail. */
export class Retries {
  readonly log: AttemptLog = new AttemptLog()
  readonly #state: State
  readonly #options: ResolvedOptions
  readonly #reports: Reports
  readonly #isActive: (webhookId: string) => boolean
  readonly #connections: Connections
  readonly #limit: <T>(task: () => Promise<T>) => Promise<T>
  readonly #holdBack: ReturnType<typeof createHoldBack>
  /** Aborted to end the waits of all current deliveries; `abandon` then creates a new controller. */
  #waits = createAbortController()
  #isClosed = false

  /** @param isActive returns false for a webhook whose remaining attempts are skipped, because it gets no deliveries */
  constructor(
    state: State,
    options: ResolvedOptions,
    reports: Reports,
    isActive: (webhookId: string) => boolean,
  ) {
    this.#state = state
    this.#options = options
    this.#reports = reports
    this.#isActive = isActive
    this.#connections = createConnections(options.trust)
    this.#limit = createConcurrencyLimit(options.concurrency)
    this.#holdBack = createHoldBack(options.clock)
  }

  /** @returns all attempts, once the last has ended */
  async deliver(
    webhook: Readonly<Webhook>,
    fault: Readonly<Fault> | undefined,
    write: WriteRequest,
  ): Promise<{ attempts: Attempt[]; result: DeliveryResult }> {
    const place = this.#holdBack.nextPlace()
    const { signal } = this.#waits
    const delivery = { id: randomUUID(), webhookId: webhook.id, fault, ...(await write(webhook)) }
    const attempts = await this.#sendFirst(delivery, place, signal)
    this.#holdBack.sent(webhook.id, place)
    const rewrite = this.#options.retries === 'signed-again' ? write : undefined
    const result = await this.#retry(delivery, attempts, signal, rewrite)
    if (fault?.fault === 'duplicate' && result === 'succeeded')
      attempts.push(...(await this.#attemptIfDue(delivery, attempts.length + 1, signal)))
    return { attempts, result }
  }

  /**
   * Makes one attempt, even if the webhook was changed, deactivated or deleted.
   *
   * @param after the number of an earlier attempt, which the log may have lost
   */
  resend(delivery: OutgoingDelivery, after = 0): Promise<Attempt> {
    return this.#limit(() => {
      // Other attempts of the same delivery may have begun while this one was queued.
      const attempts = this.log.list().filter(({ deliveryId }) => deliveryId === delivery.id)
      return this.#begin(delivery, Math.max(after, ...attempts.map(({ number }) => number)) + 1)
    })
  }

  /**
   * Sends a request that is not a delivery, within the limit of attempts in flight.
   *
   * @throws {Error} if there is no response within this number of seconds, if the host is not allowed, or if the service
   *   is closed ({@link CLOSED})
   */
  send(url: URL, request: OutgoingRequest, seconds: number): Promise<Answer> {
    return this.#limit(async () => {
      this.#requireSendable(url)
      return sendRequest(this.#connections, url, request, seconds)
    })
  }

  /** Waits, at most until `abandon` or `stop`. */
  pause(milliseconds: number): Promise<unknown> {
    return waitUnlessAborted(this.#options.clock, milliseconds, this.#waits.signal)
  }

  /** Drops all current deliveries: those in flight are not retried, the others are not sent. */
  abandon(): void {
    this.#waits.abort(ABANDONED)
    this.#waits = createAbortController()
  }

  /** Ends all waits: sends deliveries that are held back, and stops all retries. */
  stop(): void {
    this.#waits.abort()
  }

  close(): void {
    this.#isClosed = true
    this.#connections.close()
  }

  #isDue({ webhookId }: OutgoingDelivery, signal: AbortSignal): boolean {
    return signal.reason !== ABANDONED && this.#isActive(webhookId)
  }

  #requireSendable(url: URL): void {
    if (this.#isClosed) throw new Error(CLOSED)
    if (!isAllowed(url, this.#options.allowHosts)) throw new Error(HOST_REFUSED)
  }

  #begin(delivery: OutgoingDelivery, number: number): Promise<Attempt> {
    const attempt = this.#makeAttempt(delivery, number)
    this.#options.clock.during?.(attempt)
    return attempt
  }

  /** Makes one attempt. Never rejects: failures are recorded in the attempt. */
  async #makeAttempt(delivery: OutgoingDelivery, number: number): Promise<Attempt> {
    const { id: deliveryId, webhookId, hookUrl, record } = delivery
    // Faults of the connection apply to the first attempt only, so that a retry can succeed.
    const fault = number === 1 ? delivery.fault : undefined
    const url = new URL(hookUrl)
    const { method, headers, body } = delivery.request
    const length = String(body.length + (fault?.fault === 'wrong_length' ? 1 : 0))
    const attempt: Attempt = {
      id: randomUUID(),
      deliveryId,
      webhookId,
      number,
      hookUrl,
      sentAt: this.#options.clock.now(),
      request: { method, headers: { host: url.host, ...headers, 'content-length': length }, body },
    }
    if (delivery.fault) attempt.fault = delivery.fault.fault
    this.log.add(attempt, record)
    this.#reports.changes.emit(deliveryId)
    const started = performance.now()
    try {
      attempt.answer = await this.#sendAttempt(url, attempt, fault)
    } catch (error) {
      attempt.error = messageOf(error)
    }
    attempt.milliseconds = Math.round(performance.now() - started)
    this.#reports.listeners.emit({ type: 'attempt', attempt })
    this.#reports.changes.emit(deliveryId)
    return attempt
  }

  async #sendAttempt(url: URL, attempt: Attempt, fault: Readonly<Fault> | undefined): Promise<Answer> {
    this.#requireSendable(url)
    const onWrite = (bytes: number): void => {
      attempt.bytesSent = (attempt.bytesSent ?? 0) + bytes
    }
    return sendRequest(
      this.#connections,
      url,
      attempt.request,
      this.#state.settings.notificationTimeOutInSeconds,
      fault && {
        write: writerOf(fault, onWrite),
        onResponse: fault.fault === 'answer_lost' ? loseAnswer : undefined,
      },
    )
  }

  /**
   * @param rewrite replaces the request of `delivery`; without it, the attempt sends the request as it is
   * @returns the attempt, or an empty list if the delivery was dropped while it was queued
   */
  #attemptIfDue(
    delivery: OutgoingDelivery,
    number: number,
    signal: AbortSignal,
    rewrite?: WriteRequest,
  ): Promise<Attempt[]> {
    return this.#limit(async () => {
      const webhook = this.#state.webhooks.get(delivery.webhookId)
      // Writing takes a moment in which the webhook may be deactivated, so the check comes after it.
      if (webhook && rewrite) Object.assign(delivery, await rewrite(webhook))
      return this.#isDue(delivery, signal) ? [await this.#begin(delivery, number)] : []
    })
  }

  /** Makes the first attempt of a delivery. With the fault `two_at_once`, makes two attempts at the same time. */
  async #sendFirst(delivery: OutgoingDelivery, place: number, signal: AbortSignal): Promise<Attempt[]> {
    const { webhookId, fault } = delivery
    if (fault) await this.#holdBack.wait(webhookId, place, fault, signal)
    const first = this.#attemptIfDue(delivery, 1, signal)
    if (fault?.fault !== 'two_at_once') return first
    const second = this.#attemptIfDue(delivery, 2, signal)
    return (await Promise.all([first, second])).flat()
  }

  /** Makes further attempts until the result of the delivery is known. Appends them to `attempts`. */
  async #retry(
    delivery: OutgoingDelivery,
    attempts: Attempt[],
    signal: AbortSignal,
    rewrite: WriteRequest | undefined,
  ): Promise<DeliveryResult> {
    const { clock, version } = this.#options
    while (!attempts.some(hasSucceeded)) {
      if (!this.#isDue(delivery, signal) || NEVER_SENT.includes(attempts.at(-1)?.error)) return 'abandoned'
      const { notificationAttempts, notificationElapsedTimeInSeconds } = this.#state.settings
      if (attempts.length >= (has(version, 'failures') ? notificationAttempts : 1)) return 'failed'
      if (!(await waitUnlessAborted(clock, notificationElapsedTimeInSeconds * 1000, signal)))
        return 'abandoned'
      attempts.push(...(await this.#attemptIfDue(delivery, attempts.length + 1, signal, rewrite)))
    }
    return 'succeeded'
  }
}

function loseAnswer(): never {
  throw new Error('the answer was lost')
}

/** Creates a controller without Node's limit of ten listeners, because any number of deliveries may listen. */
function createAbortController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
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
