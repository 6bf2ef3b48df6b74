import { setTimeout as wait } from 'node:timers/promises'
import type { Observer } from './options.ts'
import type { Probe } from './probe.ts'

/** Milliseconds between two calls of the observer. */
const INTERVAL = 100
/** Milliseconds in which the count must not change any more. An inbox handles deliveries after the response. */
const QUIET = 1_000

/** Counts how often a delivery is handled, from now on. */
export interface Counter {
  /** Resolves with the count so far. */
  now(): Promise<number>
  /** Resolves when the delivery has been handled and the count is stable, or when the timeout of the run is over. */
  result(): Promise<number>
}

/** Calls an observer. Throws if it does not return a number in time. */
export async function countHandled(observer: Observer, timeout: number, id: string): Promise<number> {
  const stop = new AbortController()
  const late = wait(timeout, 'late', { signal: stop.signal })
  late.catch(() => {}) // aborted
  const value: unknown = await Promise.race([observer(id), late]).finally(() => stop.abort())
  if (value === 'late') throw new Error(`the observer did not answer within ${timeout / 1000} s`)
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new Error('the observer did not return a number')
}

/**
 * Starts to count.
 *
 * @returns undefined without an observer
 */
export async function startCounter(probe: Probe, id: string): Promise<Counter | undefined> {
  const { observer, timeout } = probe
  if (!observer) return undefined
  const count = (): Promise<number> => countHandled(observer, timeout, id)
  const before = await count()
  return {
    now: async () => (await count()) - before,
    async result() {
      let last = await count()
      let changed = performance.now()
      const end = changed + timeout
      for (;;) {
        const now = performance.now()
        const isQuiet = now - changed >= QUIET
        if ((isQuiet && last > before) || now >= end) return last - before
        await wait(INTERVAL)
        const next = await count()
        if (next !== last) changed = performance.now()
        last = next
      }
    },
  }
}
