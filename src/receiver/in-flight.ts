import type { Config } from './options.ts'
import { stacklessError } from './stackless-error.ts'

/** Counts the body bytes of one request. */
export interface ByteCounter {
  /**
   * Counts bytes that have arrived.
   *
   * @throws {WebhookError} `body_too_large`, `receiver_busy`
   */
  add(bytes: number): void
  /** Returns all bytes of the request to the budget. Later calls of `add` throw. */
  release(): void
}

/** Limits the body bytes of each request, and of all requests in flight together. */
export function createByteBudget({ limit, maxInFlightBytes }: Config): () => ByteCounter {
  let total = 0
  return () => {
    let counted = 0
    return {
      add(bytes) {
        if (counted + bytes > limit) throw stacklessError('body_too_large')
        counted += bytes
        total += bytes
        if (total > maxInFlightBytes) throw stacklessError('receiver_busy')
      },
      release() {
        total -= counted
        counted = Number.POSITIVE_INFINITY
      },
    }
  }
}
