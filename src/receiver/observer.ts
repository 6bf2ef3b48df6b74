import type { WebhookError } from '../errors.ts'
import type { Delivery } from './delivery.ts'
import type { Outcome } from './outcome.ts'
import type { RequestHead } from './request.ts'

/** Passed to every observer function that is called at the end of a request. */
export interface Ended {
  request: RequestHead
  /** Its `kind`, `status` and `error` say what happened. */
  outcome: Outcome
  /** Duration of the request, measured with the receiver's clock. */
  milliseconds: number
}

/**
 * Functions that are called as requests are processed. They receive the headers and the bytes of the request, which is
 * all that `explain` needs, but never a key. Their return values and exceptions are ignored.
 *
 * Each request ends with exactly one call of `handled`, `duplicate`, `handshake`, `refused` or `failed`, before the
 * receiver responds.
 */
export interface Observer<Payload = unknown> {
  /**
   * A request begins. If it calls `run` synchronously, everything that the request causes (key functions, handlers,
   * stores) runs inside that call, for example within an active span. `run` resolves with the outcome and never rejects.
   * Calling it later or twice returns the same promise, and without a call the request runs anyway.
   */
  around?(seen: { request: RequestHead; run: () => Promise<Outcome> }): unknown
  /** A delivery was verified and decoded; its handlers have not run yet. */
  accepted?(seen: { delivery: Delivery<Payload>; request: RequestHead }): unknown
  /** A request did not become a delivery, or it was a handshake without a key. `body` is set if the body was read. */
  refused?(seen: Ended & { error: WebhookError; body?: Uint8Array | undefined }): unknown
  /** A delivery that is done already (status 200) or in progress (409). */
  duplicate?(seen: Ended & { delivery: Delivery<Payload> }): unknown
  /** The handlers have succeeded, or the inbox has stored the delivery: then `outcome.kind` is `'stored'`. */
  handled?(seen: Ended & { delivery: Delivery<Payload> }): unknown
  /** A handler or the inbox failed; `error.cause` has the errors. */
  failed?(seen: Ended & { delivery: Delivery<Payload>; error: WebhookError }): unknown
  /** A handshake was answered. */
  handshake?(seen: Ended): unknown
}

/** Information about a request, added while the request is processed. */
export interface Seen extends Partial<Ended> {
  request: RequestHead
  body?: Uint8Array
  delivery?: Delivery
  error?: WebhookError | undefined
  run?: () => Promise<Outcome>
}

/** Calls the observer, or the log for whatever the observer does not handle. */
export interface Notifier {
  notify(name: keyof Observer, seen: Seen): void
  /** Runs a request inside the observer's `around`, exactly once whatever `around` does. */
  around(request: RequestHead, run: () => Promise<Outcome>): Promise<Outcome>
}

/** `body_already_parsed` is always logged, even with an observer: it is a mistake in the program itself. */
export function createNotifier(observer: Observer | undefined, log: Observer): Notifier {
  function notify(name: keyof Observer, seen: Seen): void {
    const isObserved = observer ? call(observer, name, seen) : false
    if (!isObserved || (name === 'refused' && seen.error?.code === 'body_already_parsed'))
      call(log, name, seen)
  }
  return {
    notify,
    around(request, run) {
      let running: Promise<Outcome> | undefined
      // Begins in a later microtask, so that a call of `run` from within the request itself returns this promise.
      const start = () => (running ??= Promise.resolve().then(run))
      notify('around', { request, run: start })
      return start()
    },
  }
}

/**
 * Calls one function of an observer; an observer that fails must not cost a delivery.
 *
 * @returns whether the observer has that function
 */
function call(observer: Observer, name: keyof Observer, seen: Seen): boolean {
  try {
    const listener: unknown = observer[name]
    if (typeof listener !== 'function') return false
    Promise.resolve(listener.call(observer, seen)).catch(() => {})
  } catch {}
  return true
}
