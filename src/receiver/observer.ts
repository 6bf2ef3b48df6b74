import type { WebhookError } from '../errors.ts'
import { type OptionNames, requireObserver } from '../known-options.ts'
import type { Delivery } from './delivery.ts'
import { copyOutcome, type Outcome } from './outcome.ts'
import type { RequestHead } from './request.ts'

/** Passed to every observer function that is called at the end of a request. */
export interface Ended {
  request: RequestHead
  /** The tenant that the key function returned. If the request is refused, nothing proves that it is from this tenant. */
  tenant?: string | undefined
  /** The result of the request. Its `kind`, `status` and `error` describe what happened. */
  outcome: Outcome
  /** Duration of the request, measured with the receiver's clock. */
  milliseconds: number
}

/**
 * Functions that are called as requests are processed. They receive the headers and the bytes of the request, which is
 * all that `explain` needs, but never a key. Their return values and exceptions are ignored.
 *
 * Each request ends with exactly one call of `handled`, `unhandled`, `duplicate`, `handshake`, `refused` or `failed`,
 * before the receiver responds.
 */
export interface Observer<Payload = unknown> {
  /**
   * Called when a request begins. If the observer calls `run` synchronously, everything that the request causes (key
   * functions, handlers, stores) runs inside that call, for example within an active span. `run` resolves with the
   * outcome and never rejects. Later calls of `run` return the same promise; if `run` is never called, the request
   * is processed anyway.
   */
  around?(seen: { request: RequestHead; run: () => Promise<Outcome> }): unknown
  /** Called when a delivery is verified and decoded, before its handlers run. */
  accepted?(seen: { delivery: Delivery<Payload>; request: RequestHead }): unknown
  /** Called if a request is rejected, or if a handshake finds no key. `body` is set if the body was read. */
  refused?(seen: Ended & { error: WebhookError; body?: Uint8Array | undefined }): unknown
  /** Called for a delivery that has already been handled (status 200) or is in progress (409). */
  duplicate?(seen: Ended & { delivery: Delivery<Payload> }): unknown
  /**
   * Called when the handlers have succeeded, or when the inbox has stored the delivery. In the second case,
   * `outcome.kind` is `'stored'`.
   */
  handled?(seen: Ended & { delivery: Delivery<Payload> }): unknown
  /** Called if the receiver has no handler for any event of the delivery. The sender gets 200: a retry would not help. */
  unhandled?(seen: Ended & { delivery: Delivery<Payload> }): unknown
  /**
   * Called if a handler or the inbox failed; `error.cause` is the thrown error, or an `AggregateError` if several handlers
   * failed.
   */
  failed?(seen: Ended & { delivery: Delivery<Payload>; error: WebhookError }): unknown
  /** Called when the receiver has answered a handshake with a signature. */
  handshake?(seen: Ended): unknown
}

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
}

/** Calls the named function of the observer, or that of the log if the observer lacks it. */
export interface Notifier {
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
