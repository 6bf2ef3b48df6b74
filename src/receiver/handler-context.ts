import type { WebhookEvent } from '../payload/event.ts'
import type { Delivery } from './delivery.ts'

/** One attempt to handle a delivery. */
export interface AttemptContext {
  /**
   * Aborted when the inbox stops waiting for the handler, for example after the inbox's `timeout`. Without an inbox, it
   * is never aborted.
   */
  signal: AbortSignal
  /** Number of this attempt to handle the delivery, from 1. Without an inbox it is always 1. */
  attempt: number
}

/** The deliveries that one call of a handler handles together. */
export interface JoinedDeliveries {
  /** The deliveries of the events, oldest first. */
  readonly deliveries: readonly Delivery[]
  /** The events that were joined into the handler's first argument, oldest first. */
  readonly events: readonly WebhookEvent[]
}

/** The third argument of a handler. Its `signal` is the same object for all handlers of an attempt. */
export interface HandlerContext extends AttemptContext {
  /**
   * Runs a function after all handlers of the delivery have succeeded, and before the inbox records that it is done.
   * The functions run one after another, the last one first: `changes.of` stores its position after everything that
   * was passed later. They do not run if a handler fails; if one of them fails, the attempt has failed.
   */
  readonly onSuccess: (run: () => unknown) => void
  /** Present if the workers of an inbox coalesce deliveries. */
  readonly together?: JoinedDeliveries | undefined
}

/** @param attempt default: the first attempt, which is never aborted */
export const createHandlerContext = (attempt?: AttemptContext): HandledAttempt => new HandledAttempt(attempt)

/**
 * The context of the handlers of one attempt. Members are created only when a handler reads them, because creating a
 * signal takes longer than the dispatch itself.
 */
class HandledAttempt implements HandlerContext {
  readonly attempt: number
  #signal: AbortSignal | undefined
  #functions: (() => unknown)[] | undefined

  constructor(given: AttemptContext | undefined) {
    this.attempt = given?.attempt ?? 1
    this.#signal = given?.signal
  }

  get signal(): AbortSignal {
    this.#signal ??= new AbortController().signal
    return this.#signal
  }

  get onSuccess(): (run: () => unknown) => void {
    return (run) => {
      this.#functions ??= []
      this.#functions.push(run)
    }
  }

  /** Creates the context for one call of a handler, with the same signal and the same list of functions. */
  forCall(together: JoinedDeliveries): HandlerContext {
    const { attempt, onSuccess } = this
    const readSignal = () => this.signal
    return {
      attempt,
      onSuccess,
      together,
      get signal() {
        return readSignal()
      },
    }
  }

  /** Runs the functions. @throws what one of them threw; the abort reason if the signal is aborted */
  async succeed(): Promise<void> {
    for (const run of this.#functions?.reverse() ?? []) {
      this.signal.throwIfAborted()
      await run()
    }
  }
}
