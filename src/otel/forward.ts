import { OBSERVER_NAMES } from '../receiver/observer.ts'
import type { Observer } from '../receiver/types.ts'

export type Listeners = Omit<Required<Observer>, 'around'>

export const isListener = (name: string): name is keyof Listeners => name !== 'around'

/**
 * Creates an observer that calls the given observer. It defines only functions that the given observer has, so that the
 * receiver still logs the rejections and failures for which the given observer has no function.
 */
export function forwardTo(observer: Observer): Observer {
  const names = Object.keys(OBSERVER_NAMES)
    .filter(isListener)
    .filter((name) => has(observer, name))
  return Object.fromEntries(
    // Called as methods, because the observer may be a class instance that uses `this`.
    names.map((name) => [name, (seen: never) => observer[name]?.(seen)]),
  )
}

export function has(observer: Observer, name: keyof Observer): boolean {
  try {
    return typeof observer[name] === 'function'
  } catch {
    return true // treat a getter that throws like a function that throws
  }
}

/** Calls an observer's `around` and ignores its errors. What `around` wraps runs exactly once in any case. */
export function forwardAround<Seen>(observer: { around?(seen: Seen): unknown }, seen: Seen): void {
  ignoreErrors(() => void Promise.resolve(observer.around?.(seen)).catch(() => {}))
}

/**
 * Runs third-party code (an SDK, an exporter, another observer). Returns undefined if it throws, so that its errors
 * cannot fail a request.
 */
export function ignoreErrors<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}
