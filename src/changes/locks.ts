import type { GenerationStore } from '../inbox/generations.ts'
import { abortable } from './errors.ts'

interface Hold {
  /** The function `onSuccess` of the attempt. */
  attempt: object
  services: readonly string[]
}

interface Copy {
  service: string
  isRunning: boolean
}

const all = new WeakMap<GenerationStore, Locks>()

/** Returns the locks of an inbox, which all clients of this process share. */
export function locksOf(generations: GenerationStore): Locks {
  const locks = all.get(generations) ?? new Locks()
  all.set(generations, locks)
  return locks
}

/** Prevents that a service is copied while handlers of this process have its changes. */
export class Locks {
  readonly #holds = new Set<Hold>()
  readonly #copies = new Set<Copy>()
  #waiting: (() => void)[] = []

  /**
   * Waits for the copies of services, and holds the services.
   *
   * @returns a function that ends this hold
   */
  async hold(hold: Hold, signal: AbortSignal | undefined): Promise<() => void> {
    // Otherwise, this attempt and a copy would wait for each other.
    const isHolding = (): boolean => [...this.#holds].some(({ attempt }) => attempt === hold.attempt)
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
  leave(attempt: object): void {
    for (const hold of this.#holds) if (hold.attempt === attempt) this.#holds.delete(hold)
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
    const change = new Promise<void>((resolve) => this.#waiting.push(resolve))
    return signal ? abortable(change, signal) : change
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
