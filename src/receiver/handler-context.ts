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

/** The third argument of a handler. All handlers of an attempt get the same object. */
export interface HandlerContext extends AttemptContext {
  /**
   * Runs a function after all handlers of the delivery have succeeded, and before the inbox records that it is done.
   * The functions run one after another, and not at all if a handler fails. If one of them fails, the attempt has
   * failed.
   */
  readonly onSuccess: (run: () => unknown) => void
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

  /** Runs the functions. @throws what one of them threw; the abort reason if the signal is aborted */
  async succeed(): Promise<void> {
    for (const run of this.#functions ?? []) {
      this.signal.throwIfAborted()
      await run()
    }
  }
}
