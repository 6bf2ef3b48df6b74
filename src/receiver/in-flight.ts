import { refusal } from '#refusal'
import type { Config } from './options.ts'

/** The body bytes of one request, counted among those of all requests in flight. */
export interface Share {
  /** @throws {WebhookError} `body_too_large`, `receiver_busy` */
  add(bytes: number): void
  /** Gives the bytes back. Chunks that arrive later are refused. */
  release(): void
}

/** Bounds the body bytes of one request and of all requests in flight together. Only bytes that have arrived count. */
export function createInFlight({ limit, maxInFlightBytes }: Config): () => Share {
  let total = 0
  return () => {
    let own = 0
    return {
      add(bytes) {
        if (own + bytes > limit) throw refusal('body_too_large')
        own += bytes
        total += bytes
        if (total > maxInFlightBytes) throw refusal('receiver_busy')
      },
      release() {
        total -= own
        own = Infinity
      },
    }
  }
}
