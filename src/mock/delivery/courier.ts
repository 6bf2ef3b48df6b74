import { setMaxListeners } from 'node:events'
import fastq from 'fastq'
import { Agent } from 'undici'
import type { Clock } from '../clock.ts'
import type { DeliverySettings } from '../settings.ts'
import { attempt, CLOSED, type Delivery, HOST_REFUSED, succeeded } from './attempt.ts'
import type { Attempt } from './attempts.ts'

/** What {@link createCourier} takes. */
export interface CourierOptions {
  clock: Clock
  allowHosts: readonly string[]
  /** Attempts on the wire at once. */
  concurrency: number
  settings(): DeliverySettings
  /** Whether the webhook is still there and active: if not, it is not tried again. */
  isWanted(webhookId: string): boolean
  /** Called when an attempt begins. */
  record(attempt: Attempt): void
  /** Called when it has ended. */
  finished(attempt: Attempt): void
}

/** An attempt that waits until others are done. */
interface Task {
  delivery: Delivery
  /** Its number, asked for when it begins. */
  next(): number
  /** Whether it is still to be made, asked then too. */
  isDue(): boolean
}

/** What became of a delivery. */
export interface Delivered {
  attempts: Attempt[]
  /** `given_up` where attempts are left that will not be made. */
  result: 'succeeded' | 'failed' | 'given_up'
}

/** Brings deliveries to their payload URLs, over connections that are kept open. */
export interface Courier {
  /** @param writing what is to be sent, once it is written: to be forgotten, or stopped, from now on */
  deliver(writing: Promise<Delivery>): Promise<Delivered>
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

const DELAYED = 5_000
const REORDERED = 10_000
/** Why waiting ends where nothing shall be sent any more. */
const FORGOTTEN = 'forgotten'
/** Errors of attempts that are no receiver's fault, and would be met again. */
const NEVER_SENT: readonly unknown[] = [HOST_REFUSED, CLOSED]

export function createCourier(options: CourierOptions): Courier {
  const { clock, settings, isWanted, record, finished } = options
  const dispatcher = new Agent()
  /** Ends all waiting. Those that have begun before stay ended. */
  let patience = createPatience()
  let closed: Promise<void> | undefined
  const wire = fastq.promise(make, options.concurrency)
  /** Deliveries that are held back until the webhook's next one was sent. */
  const heldBack = new Map<string, { order: number; release(): void }>()
  let deliveries = 0

  async function make({ delivery, next, isDue }: Task): Promise<Attempt | undefined> {
    if (!isDue()) return undefined
    const { allowHosts } = options
    const number = next()
    const seconds = settings().notificationTimeOutInSeconds
    const isClosed = (): boolean => closed !== undefined
    const making = attempt(delivery, number, { clock, dispatcher, allowHosts, seconds, isClosed, record })
    clock.during?.(making)
    const made = await making
    finished(made)
    return made
  }

  /** @returns whether it was waited to the end */
  async function wait(milliseconds: number, signal: AbortSignal): Promise<boolean> {
    return clock.wait(milliseconds, signal).then(
      () => true,
      () => false,
    )
  }

  async function holdBack({ webhookId, fault }: Delivery, order: number, signal: AbortSignal): Promise<void> {
    if (fault?.fault === 'delayed') await wait(fault.delay ?? DELAYED, signal)
    // While one is held back, the next goes before it: held back as well, it would keep the order.
    if (fault?.fault !== 'reordered' || heldBack.has(webhookId)) return
    const next = new AbortController()
    const held = { order, release: () => next.abort() }
    heldBack.set(webhookId, held)
    await wait(fault.delay ?? REORDERED, AbortSignal.any([next.signal, signal]))
    if (heldBack.get(webhookId) === held) heldBack.delete(webhookId)
  }

  /** Lets go what was held back for this one: a delivery that came later. */
  function release({ webhookId }: Delivery, order: number): void {
    const held = heldBack.get(webhookId)
    if (held && order > held.order) held.release()
  }

  async function deliver(writing: Promise<Delivery>): Promise<Delivered> {
    const { signal } = patience
    const order = ++deliveries
    const delivery = await writing
    const { webhookId, fault } = delivery
    const isDue = (): boolean => signal.reason !== FORGOTTEN && isWanted(webhookId)
    const push = async (...numbers: number[]): Promise<Attempt[]> => {
      const made = numbers.map((number) => wire.push({ delivery, next: () => number, isDue }))
      return (await Promise.all(made)).filter((attempt) => attempt !== undefined)
    }

    await holdBack(delivery, order, signal)
    const attempts = await push(...(fault?.fault === 'two_at_once' ? [1, 2] : [1]))
    release(delivery, order)
    for (;;) {
      if (!isDue() && !attempts.some(succeeded)) return { attempts, result: 'given_up' }
      if (attempts.some(succeeded)) break
      if (NEVER_SENT.includes(attempts.at(-1)?.error)) return { attempts, result: 'given_up' }
      const { notificationAttempts, notificationElapsedTimeInSeconds } = settings()
      if (attempts.length >= notificationAttempts) return { attempts, result: 'failed' }
      if (!(await wait(notificationElapsedTimeInSeconds * 1000, signal)))
        return { attempts, result: 'given_up' }
      attempts.push(...(await push(attempts.length + 1)))
    }
    if (fault?.fault === 'duplicate') attempts.push(...(await push(attempts.length + 1)))
    return { attempts, result: 'succeeded' }
  }

  return {
    deliver,
    again: async (delivery, next) => (await wire.push({ delivery, next, isDue: () => true })) as Attempt,
    forget() {
      patience.abort(FORGOTTEN)
      patience = createPatience()
    },
    stop: () => patience.abort(),
    close() {
      closed ??= dispatcher.close()
      return closed
    },
  }
}

/** However many deliveries wait: Node warns of more than ten listeners. */
function createPatience(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
