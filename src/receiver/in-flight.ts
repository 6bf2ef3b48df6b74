import type { Config } from './options.ts'
import { stacklessError } from './stackless-error.ts'

/** Counts the body bytes of one request. */
export interface ByteCounter {
  /**
   * Counts bytes that the sender has announced, before they arrive. The platform can then read the body in one piece.
   *
   * @returns false if the bytes cannot be reserved. In this case, call `add` with each chunk as it arrives
   */
  reserve(bytes: number): boolean
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
  let totalReserved = 0
  return () => {
    let counted = 0
    let reserved = 0
    function cancelReservation(): void {
      total -= reserved
      totalReserved -= reserved
      reserved = 0
    }
    return {
      reserve(bytes) {
        if (counted + bytes > limit) return false // also after release(), because nothing would release these bytes
        // A sender can announce a body without sending it, so reservations may use at most half of the budget.
        if (totalReserved + bytes > maxInFlightBytes / 2 || total + bytes > maxInFlightBytes) return false
        reserved += bytes
        totalReserved += bytes
        total += bytes
        return true
      },
      add(bytes) {
        if (counted + bytes > limit) throw stacklessError('body_too_large')
        cancelReservation()
        counted += bytes
        total += bytes
        if (total > maxInFlightBytes) throw stacklessError('receiver_busy')
      },
      release() {
        cancelReservation()
        total -= counted
        counted = Number.POSITIVE_INFINITY
      },
    }
  }
}
