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

/** The deliveries that one handler call handles together. */
export interface JoinedDeliveries {
  /** The deliveries that contain these events, oldest first. */
  readonly deliveries: readonly Delivery[]
  /** The events that were joined into the handler's first argument, oldest first. */
  readonly events: readonly WebhookEvent[]
}

/** The third argument of a handler. */
export interface HandlerContext extends AttemptContext {
  /**
   * Runs a function after all handlers of the delivery have succeeded, and before the inbox records it as done. The
   * functions run one after another, in reverse order: `changes.of` stores its generations after every function that
   * was registered later has run. If a handler fails, none of them runs. If one of them fails, the attempt fails. All
   * handlers of an attempt get the same function, and each attempt has its own.
   */
  readonly onSuccess: (run: () => unknown) => void
  /** Present if the workers of an inbox use `coalesce`, also for a delivery that is handled alone. */
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
  #onSuccess: HandlerContext['onSuccess'] | undefined

  constructor(given: AttemptContext | undefined) {
    this.attempt = given?.attempt ?? 1
    this.#signal = given?.signal
  }

  get signal(): AbortSignal {
    this.#signal ??= new AbortController().signal
    return this.#signal
  }

  get onSuccess(): (run: () => unknown) => void {
    this.#onSuccess ??= (run) => {
      this.#functions ??= []
      this.#functions.push(run)
    }
    return this.#onSuccess
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
