import fastq from 'fastq'
import { Agent } from 'undici'
import type { Clock } from '../clock.ts'
import type { DeliverySettings } from '../settings.ts'
import { attempt, type Delivery, HOST_REFUSED, succeeded } from './attempt.ts'
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

/** What became of a delivery. */
export interface Delivered {
  attempts: Attempt[]
  /** `given_up` where attempts are left that will not be made. */
  result: 'succeeded' | 'failed' | 'given_up'
}

/** Brings deliveries to their payload URLs, over connections that are kept open. */
export interface Courier {
  deliver(delivery: Delivery): Promise<Delivered>
  /** One attempt more. */
  again(delivery: Delivery, number: number): Promise<Attempt>
  /** From now on nothing is held back, and nothing is tried again. */
  stop(): void
  /** Closes the connections. */
  close(): Promise<void>
}

const DELAYED = 5_000
const REORDERED = 10_000

export function createCourier(options: CourierOptions): Courier {
  const { clock, settings, isWanted, record, finished } = options
  const dispatcher = new Agent()
  const closing = new AbortController()
  let closed: Promise<void> | undefined
  const wire = fastq.promise(make, options.concurrency)
  /** Deliveries that are held back until the webhook's next one was sent. */
  const heldBack = new Map<string, () => void>()

  async function make({ delivery, number }: { delivery: Delivery; number: number }): Promise<Attempt> {
    const { allowHosts } = options
    const seconds = settings().notificationTimeOutInSeconds
    const isClosed = (): boolean => closed !== undefined
    const making = attempt(delivery, number, { clock, dispatcher, allowHosts, seconds, isClosed, record })
    clock.during?.(making)
    const made = await making
    finished(made)
    return made
  }

  /** Ends at once when the courier closes. @returns whether it was waited to the end */
  async function wait(milliseconds: number, signal = closing.signal): Promise<boolean> {
    return clock.wait(milliseconds, signal).then(
      () => true,
      () => false,
    )
  }

  async function holdBack({ webhookId, fault }: Delivery): Promise<void> {
    if (fault?.fault === 'delayed') await wait(fault.delay ?? DELAYED)
    if (fault?.fault !== 'reordered') return
    const next = new AbortController()
    const signal = AbortSignal.any([next.signal, closing.signal])
    heldBack.get(webhookId)?.()
    const release = (): void => next.abort()
    heldBack.set(webhookId, release)
    await wait(fault.delay ?? REORDERED, signal)
    if (heldBack.get(webhookId) === release) heldBack.delete(webhookId)
  }

  async function deliver(delivery: Delivery): Promise<Delivered> {
    await holdBack(delivery)
    const attempts: Attempt[] = []
    const { webhookId, fault } = delivery
    for (let number = 1; ; number = attempts.length + 1) {
      const numbers = number === 1 && fault?.fault === 'two_at_once' ? [1, 2] : [number]
      attempts.push(...(await Promise.all(numbers.map((number) => wire.push({ delivery, number })))))
      heldBack.get(webhookId)?.()
      if (attempts.some(succeeded)) break
      if (attempts.at(-1)?.error === HOST_REFUSED) return { attempts, result: 'given_up' }
      const { notificationAttempts, notificationElapsedTimeInSeconds } = settings()
      if (attempts.length >= notificationAttempts) return { attempts, result: 'failed' }
      const goOn = (await wait(notificationElapsedTimeInSeconds * 1000)) && isWanted(webhookId)
      if (!goOn) return { attempts, result: 'given_up' }
    }
    if (fault?.fault === 'duplicate')
      attempts.push(await wire.push({ delivery, number: attempts.length + 1 }))
    return { attempts, result: 'succeeded' }
  }

  return {
    deliver,
    again: (delivery, number) => wire.push({ delivery, number }),
    stop: () => closing.abort(),
    close() {
      closed ??= dispatcher.close()
      return closed
    },
  }
}
