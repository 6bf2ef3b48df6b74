import type { WebhookError } from '../errors.ts'
import type { Delivery } from './delivery.ts'
import type { Outcome } from './outcome.ts'
import type { RequestHead } from './request.ts'

/** What is told at the end of every request, whatever became of it. */
export interface Ended {
  request: RequestHead
  /** Its `kind`, `status` and `error` say what happened. */
  outcome: Outcome
  /** From the beginning of the request, by the receiver's clock. */
  milliseconds: number
}

/**
 * Functions that are told what happens. They see the request with its headers and its bytes, so they can keep what
 * `explain` needs; they never see a key. What they return or throw changes nothing.
 *
 * Each request ends with one call of `handled`, `duplicate`, `handshake`, `refused` or `failed`, before the receiver
 * answers.
 */
export interface Observer<Payload = unknown> {
  /**
   * A request begins. Whoever calls `run` at once has the whole of its work (key functions, handlers, stores) run inside
   * that call, for example within an active span; it resolves with the outcome and does not reject. Called later, or
   * again, `run` gives the same promise; where it is not called, the work begins without it.
   */
  around?(seen: { request: RequestHead; run: () => Promise<Outcome> }): unknown
  /** A delivery was verified and decoded; its handlers have not run yet. */
  accepted?(seen: { delivery: Delivery<Payload>; request: RequestHead }): unknown
  /** A request did not become a delivery, or was a handshake without a key. `body` is there if it was read. */
  refused?(seen: Ended & { error: WebhookError; body?: Uint8Array | undefined }): unknown
  /** A delivery that was done already (status 200), or is at work now (409). */
  duplicate?(seen: Ended & { delivery: Delivery<Payload> }): unknown
  /** The handlers are done, or the inbox has the delivery: then `outcome.kind` is `'stored'`. */
  handled?(seen: Ended & { delivery: Delivery<Payload> }): unknown
  /** A handler or the inbox failed; `error.cause` has the errors. */
  failed?(seen: Ended & { delivery: Delivery<Payload>; error: WebhookError }): unknown
  /** A handshake was answered. */
  handshake?(seen: Ended): unknown
}

/** What there is to see, whatever it is. */
type Seen = Partial<Ended> & {
  run?: () => Promise<Outcome>
  delivery?: Delivery | undefined
  error?: WebhookError | undefined
  body?: Uint8Array | undefined
}

/** Tells one thing to whoever listens. What there is to see is put together only where somebody does. */
export type Tell = (name: keyof Observer, see: () => Seen) => void

/**
 * The user's observer, with the log for what it has no function for. A body that was parsed first is always logged:
 * it is a mistake in the receiver's own program. An observer that fails must not cost a delivery.
 */
export function createTell(observer: Observer | undefined, log: Observer): Tell {
  return (name, look) => {
    let seen: Seen | undefined
    const see = () => (seen ??= look())
    const isHeard = observer ? call(observer, name, see) : false
    if (!isHeard || (name === 'refused' && see().error?.code === 'body_already_parsed')) call(log, name, see)
  }
}

/** @returns whether there is such a function; one that fails has heard it all the same */
function call(observer: Observer, name: keyof Observer, see: () => Seen): boolean {
  try {
    const told: unknown = observer[name]
    if (typeof told !== 'function') return false
    Promise.resolve(told.call(observer, see())).catch(() => {})
  } catch {}
  return true
}
