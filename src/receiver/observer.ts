import type { WebhookError } from '../errors.ts'
import { type OptionNames, requireObserver } from '../options.ts'
import { copyOutcome } from './outcome.ts'
import type { Delivery, Ended, Observer, Outcome, RequestHead } from './types.ts'

export const OBSERVER_NAMES: OptionNames<Observer> = {
  around: true,
  accepted: true,
  refused: true,
  duplicate: true,
  handled: true,
  unhandled: true,
  failed: true,
  handshake: true,
}

/** The facts about one request, collected while it is processed. */
export interface Seen extends Partial<Ended> {
  request: RequestHead
  body?: Uint8Array
  delivery?: Delivery
  error?: WebhookError | undefined
  run?: () => Promise<Outcome>
  keyFingerprint?: string | undefined
}

/** Tells the observer, or the log, about requests. */
export interface Notifier {
  /** Calls the named function of the observer, or that of the log if the observer lacks it. */
  notify(name: keyof Observer, seen: Seen): void
  /** Runs a request inside the observer's `around`. The request runs exactly once, whatever `around` does. */
  around(request: RequestHead, run: () => Promise<Outcome>): Promise<Outcome>
}

/**
 * Creates the notifier. `body_already_parsed` is always logged, even with an observer, because it means a bug in the
 * user's program.
 *
 * @throws {WebhookError} `config_invalid` for an invalid observer
 */
export function createNotifier(observer: Observer | undefined, log: Observer): Notifier {
  requireObserver(observer, OBSERVER_NAMES)
  function notify(name: keyof Observer, seen: Seen): void {
    const isObserved = observer ? call(observer, name, seen) : false
    if (!isObserved || (name === 'refused' && seen.error?.code === 'body_already_parsed'))
      call(log, name, seen)
  }
  return {
    notify,
    around(request, run) {
      let running: Promise<Outcome> | undefined
      let shown: Promise<Outcome> | undefined
      // Starts in a later microtask, so that `running` is set before the request's own code can call `run` again.
      const start = () => (running ??= Promise.resolve().then(run))
      notify('around', { request, run: () => (shown ??= start().then(copyOutcome)) })
      return start()
    },
  }
}

/**
 * Calls one function of an observer. Exceptions are ignored, so that a broken observer cannot fail a delivery.
 *
 * @returns true if the observer has that function
 */
function call(observer: Observer, name: keyof Observer, seen: Seen): boolean {
  try {
    const listener: unknown = observer[name]
    if (typeof listener !== 'function') return false
    Promise.resolve(listener.call(observer, seen)).catch(() => {})
  } catch {}
  return true
}
