import { parseChangesUrl } from '../payload/changes-url.ts'
import type { WebhookEvent } from '../payload/events.ts'
import type { AttemptPort } from '../receiver/port.ts'
import type { GenerationStore } from './generations.ts'

interface Hold {
  /** The attempt, or the function `onSuccess` of an application. */
  owner: object
  services: readonly string[]
}

interface Copy {
  service: string
  isRunning: boolean
}

/** The member with the locks in the generations of an inbox. Registered, so that the ES and CommonJS builds share it. */
const LOCKS: unique symbol = /* @__PURE__ */ Symbol.for('geohook.locks')
const others = new WeakMap<GenerationStore, ServiceLocks>()

/** Adds locks to the generations of an inbox. */
export const withLocks = (generations: GenerationStore): GenerationStore =>
  Object.assign(generations, { [LOCKS]: new ServiceLocks() })

/** Returns the locks of an inbox or of a store of an application. All clients of the process share them. */
export function locksOf(generations: GenerationStore & { [LOCKS]?: ServiceLocks }): ServiceLocks {
  const locks = generations[LOCKS] ?? others.get(generations) ?? new ServiceLocks()
  others.set(generations, locks)
  return locks
}

/** Prevents that a service is copied while handlers of this process have its changes. */
export class ServiceLocks {
  readonly #holds = new Set<Hold>()
  readonly #copies = new Set<Copy>()
  #waiting: (() => void)[] = []

  /**
   * Holds the services of events for an attempt. Called before its handlers: if they waited for a copy later, they could
   * have a lock of a database that the copy waits for.
   */
  enter = async (
    attempt: AttemptPort,
    events: readonly WebhookEvent[],
    signal: AbortSignal,
  ): Promise<void> => {
    const urls = new Set(events.map(({ changesUrl }) => changesUrl))
    const services = [...urls].flatMap((url = '') => parseChangesUrl(url)?.service ?? [])
    if (services.length > 0) attempt.onEnd(await this.hold({ owner: attempt, services }, signal))
  }

  /**
   * Waits for the copies of services, and holds the services.
   *
   * @returns a function that ends this hold
   */
  async hold(hold: Hold, signal: AbortSignal | undefined): Promise<() => void> {
    // Otherwise, this attempt and a copy would wait for each other.
    const isHolding = (): boolean => [...this.#holds].some(({ owner }) => owner === hold.owner)
    const mustWait = ({ service, isRunning }: Copy): boolean =>
      hold.services.includes(service) && (isRunning || !isHolding())
    while ([...this.#copies].some(mustWait)) await this.#change(signal)
    this.#holds.add(hold)
    return () => {
      this.#holds.delete(hold)
      this.#wake()
    }
  }

  /** Ends all holds of an attempt. */
  leave(owner: object): void {
    for (const hold of this.#holds) if (hold.owner === owner) this.#holds.delete(hold)
    this.#wake()
  }

  /**
   * Runs a copy while no attempt and no other copy holds the service. Aborting the signal ends the wait, and the hold of
   * a copy that ignores it.
   */
  async copy(service: string, signal: AbortSignal, run: () => Promise<void>): Promise<void> {
    const copy: Copy = { service, isRunning: false }
    const end = (): void => {
      this.#copies.delete(copy)
      this.#wake()
    }
    const isTaken = (): boolean =>
      [...this.#holds].some(({ services }) => services.includes(service)) ||
      [...this.#copies].some((other) => other.service === service && other.isRunning)
    signal.throwIfAborted()
    signal.addEventListener('abort', end, { once: true })
    this.#copies.add(copy)
    try {
      while (isTaken()) await this.#change(signal)
      copy.isRunning = true
      await run()
    } finally {
      signal.removeEventListener('abort', end)
      end()
    }
  }

  /** Waits until a hold or a copy has ended. */
  #change(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal?.reason)
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort, { once: true })
      this.#waiting.push(() => {
        signal?.removeEventListener('abort', abort)
        resolve()
      })
    })
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
