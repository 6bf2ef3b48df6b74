import { setMaxListeners } from 'node:events'
import { Agent } from 'undici'
import type { SignedRequest } from '../../testing/signer.ts'
import type { Clock } from '../clock.ts'
import type { DeliverySettings } from '../delivery-settings.ts'
import { type AttemptTools, attempt, CLOSED, type Delivery, HOST_REFUSED, succeeded } from './attempt.ts'
import type { Attempt } from './attempt-log.ts'
import type { Fault } from './faults.ts'
import { createOrder, waited } from './hold-back.ts'
import { createTurns } from './turns.ts'
import type { Work } from './work.ts'

/** What {@link createCourier} takes. */
export interface CourierOptions {
  clock: Clock
  /** Is told of deliveries under way. */
  work: Work
  /** Attempts on the wire at once. */
  concurrency: number
  settings(): DeliverySettings
  /** Whether the webhook is still there and active: if not, it is not tried again. */
  isWanted(webhookId: string): boolean
  /** Makes the id of an attempt. */
  newId(): string
  /** Called when an attempt begins. */
  record(attempt: Attempt): void
  /** Called when it has ended. */
  finished(attempt: Attempt): void
  /** Called when a delivery has no more attempts to come. */
  ended(webhookId: string, result: Result): void
}

/** What became of a delivery: `given_up` where attempts are left that will not be made. */
export type Result = 'succeeded' | 'failed' | 'given_up'

/** Brings deliveries to their payload URLs, over connections that are kept open. */
export interface Courier {
  /**
   * To be forgotten, or stopped, from now on.
   *
   * @param writing what is to be sent, once it is written
   */
  deliver(
    message: Omit<Delivery, 'request' | 'patience'>,
    writing: SignedRequest | Promise<SignedRequest>,
  ): Promise<Attempt[]>
  /**
   * One attempt more.
   *
   * @param next its number, asked for when it begins: others may begin before
   */
  again(delivery: Delivery, next: () => number): Promise<Attempt>
  /** Gives up all deliveries that wait for their time; what is on the wire is not tried again. */
  forget(): void
  /** From now on nothing is held back, and nothing is tried again. */
  stop(): void
  /** Closes the connections. */
  close(): Promise<void>
}

/** Why waiting ends where nothing shall be sent any more. */
const FORGOTTEN = 'forgotten'
/** Errors of attempts that are no receiver's fault, and would be met again. */
const NEVER_SENT: readonly unknown[] = [HOST_REFUSED, CLOSED]

export function createCourier(options: CourierOptions): Courier {
  const { clock, work, settings, isWanted, newId, record, ended } = options
  // Each attempt has a time-out of its own, which is shorter.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  /** Ends all waiting. Those that have begun before stay ended. */
  let patience = createPatience()
  let closed: Promise<void> | undefined
  const turns = createTurns(options.concurrency)
  const order = createOrder(clock)
  const tools: AttemptTools = {
    clock,
    dispatcher,
    newId,
    record,
    isClosed: () => closed !== undefined,
    finished(made) {
      options.finished(made)
      turns.end()
    },
  }

  /** Whether it is still to be sent. */
  const isDue = ({ webhookId, patience }: Delivery): boolean =>
    patience === undefined || (patience.reason !== FORGOTTEN && isWanted(webhookId))

  /**
   * Makes an attempt when it is its turn.
   *
   * @param number where others may begin before it, asked for when it begins
   * @returns undefined where the delivery is not due then
   */
  function make(delivery: Delivery, number: number | (() => number)): Promise<Attempt | undefined> {
    return turns.take()?.then(() => begin(delivery, number)) ?? begin(delivery, number)
  }

  function begin(delivery: Delivery, number: number | (() => number)): Promise<Attempt | undefined> {
    if (!isDue(delivery)) {
      turns.end()
      return Promise.resolve(undefined)
    }
    const seconds = settings().notificationTimeOutInSeconds
    const making = attempt(delivery, typeof number === 'number' ? number : number(), seconds, tools)
    clock.during?.(making)
    return making
  }

  const deliver: Courier['deliver'] = async (message, writing) => {
    const place = order.next()
    const { signal } = patience
    work.begin()
    try {
      const request = writing instanceof Promise ? await writing : writing
      const { id, webhookId, target, fault } = message
      const delivery: Delivery = { id, webhookId, target, request, fault, patience: signal }
      const attempts = fault
        ? await withFault(delivery, fault, place, signal)
        : listOf(await make(delivery, 1))
      order.sent(webhookId, place)
      const result = resultOf(delivery, attempts) ?? (await goOn(delivery, attempts, signal))
      if (fault?.fault === 'duplicate' && result === 'succeeded')
        attempts.push(...listOf(await make(delivery, attempts.length + 1)))
      ended(webhookId, result)
      return attempts
    } finally {
      work.end()
    }
  }

  /** What is sent at first of a delivery that has a fault. */
  async function withFault(
    delivery: Delivery,
    fault: Readonly<Fault>,
    place: number,
    signal: AbortSignal,
  ): Promise<Attempt[]> {
    await order.holdBack(delivery.webhookId, place, fault, signal)
    const first = make(delivery, 1)
    if (fault.fault !== 'two_at_once') return listOf(await first)
    const second = make(delivery, 2)
    return [...listOf(await first), ...listOf(await second)]
  }

  /** One attempt after another, until it is known what the delivery comes to. */
  async function goOn(delivery: Delivery, attempts: Attempt[], signal: AbortSignal): Promise<Result> {
    for (;;) {
      const gap = settings().notificationElapsedTimeInSeconds * 1000
      if (!(await waited(clock, gap, signal))) return 'given_up'
      attempts.push(...listOf(await make(delivery, attempts.length + 1)))
      const result = resultOf(delivery, attempts)
      if (result) return result
    }
  }

  /** What a delivery has come to; undefined where it is to be tried again. */
  function resultOf(delivery: Delivery, attempts: readonly Attempt[]): Result | undefined {
    if (attempts.some(succeeded)) return 'succeeded'
    if (!isDue(delivery) || NEVER_SENT.includes(attempts.at(-1)?.error)) return 'given_up'
    return attempts.length < settings().notificationAttempts ? undefined : 'failed'
  }

  return {
    deliver,
    async again(delivery, next) {
      work.begin()
      try {
        return (await make(delivery, next)) as Attempt
      } finally {
        work.end()
      }
    },
    forget() {
      patience.abort(FORGOTTEN)
      patience = createPatience()
    },
    stop: () => patience.abort(),
    close() {
      closed ??= dispatcher.destroy()
      return closed
    },
  }
}

/** The attempt, if it was made. */
const listOf = (attempt: Attempt | undefined): Attempt[] => (attempt ? [attempt] : [])

/** However many deliveries wait: Node warns of more than ten listeners. */
function createPatience(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
