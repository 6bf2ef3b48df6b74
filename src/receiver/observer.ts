import type { WebhookError } from '../errors.ts'
import type { Delivery } from './delivery.ts'
import type { RequestHead } from './request.ts'

/**
 * Functions that are told what happens. They see the request with its headers and its bytes, so they can keep what
 * `explain` needs; they never see a key. What they return or throw changes nothing.
 */
export interface Observer<Payload = unknown> {
  /** A delivery was verified and decoded; its handlers have not run yet. */
  accepted?(seen: { delivery: Delivery<Payload>; request: RequestHead }): unknown
  /** A request did not become a delivery. `body` is there if it was read. */
  refused?(seen: { error: WebhookError; request: RequestHead; body?: Uint8Array | undefined }): unknown
  /** A delivery that was done already, or is at work now. */
  duplicate?(seen: { delivery: Delivery<Payload>; request: RequestHead }): unknown
  /** The handlers are done, or the inbox has the delivery. `milliseconds` count from the request. */
  handled?(seen: { delivery: Delivery<Payload>; request: RequestHead; milliseconds: number }): unknown
  /** A handler or the inbox failed; `error.cause` has the errors. */
  failed?(seen: {
    delivery: Delivery<Payload>
    error: WebhookError
    request: RequestHead
    milliseconds: number
  }): unknown
}

/** Tells one thing to whoever listens. */
export type Tell = <Name extends keyof Observer>(
  name: Name,
  seen: Parameters<NonNullable<Observer[Name]>>[0],
) => void

/**
 * The user's observer, with the log for what it has no function for. A body that was parsed first is always logged:
 * it is a mistake in the receiver's own program. An observer that fails must not cost a delivery.
 */
export function createTell(observer: Observer, log: Observer): Tell {
  return (name, seen) => {
    const isHeard = call(observer, name, seen)
    const isSetUpWrong = 'error' in seen && seen.error.code === 'body_already_parsed'
    if (!isHeard || isSetUpWrong) call(log, name, seen)
  }
}

/** @returns whether there is such a function; one that fails has heard it all the same */
function call(observer: Observer, name: keyof Observer, seen: unknown): boolean {
  try {
    const told: unknown = observer[name]
    if (typeof told !== 'function') return false
    const result: unknown = told.call(observer, seen)
    if (result instanceof Promise) result.catch(() => {})
    return true
  } catch {
    return true
  }
}
