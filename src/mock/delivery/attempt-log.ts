import type { RawRequest } from '../../testing/signer.ts'
import type { FaultName } from '../faults/faults.ts'
import type { Answer } from './http-client.ts'

/** One attempt to send a delivery. */
export interface Attempt {
  id: string
  /** Id shared by all attempts of one delivery. */
  deliveryId: string
  webhookId: string
  /** Number of the attempt within its delivery, from 1. */
  number: number
  hookUrl: string
  /** Milliseconds since 1970. */
  sentAt: number
  /** The request as sent, with `host` and `content-length`. */
  request: RawRequest
  /** Number of body bytes sent; present only for a connection fault. */
  bytesSent?: number
  /** The receiver's response; absent if the attempt failed without one. */
  answer?: Answer
  /** Reason why the attempt has no response. */
  error?: string
  /** Duration in milliseconds; absent while the attempt is in flight. */
  milliseconds?: number
  /** The injected fault, if any. */
  fault?: FaultName
}

/** One page of the attempt log. */
export interface AttemptPage {
  attempts: readonly Attempt[]
  /** Value of `after` for the next page; undefined on the last page. */
  next: string | undefined
}

/** The last thousand attempts, oldest first. */
export interface AttemptLog {
  /** @returns a new array */
  list(): Attempt[]
  add(attempt: Attempt): void
  get(id: string): Attempt | undefined
  /** @returns undefined if no attempt has the id `after` */
  page(query: {
    limit: number
    after?: string | undefined
    webhookId?: string | undefined
  }): AttemptPage | undefined
  clear(): void
}

const MAX_ATTEMPTS = 1000

export function createAttemptLog(): AttemptLog {
  const log: Attempt[] = []

  return {
    list: () => [...log],
    add(attempt) {
      log.push(attempt)
      if (log.length > MAX_ATTEMPTS) log.shift()
    },
    get: (id) => log.find((attempt) => attempt.id === id),
    page({ limit, after, webhookId }) {
      const start = after === undefined ? 0 : log.findIndex(({ id }) => id === after) + 1
      if (start === 0 && after !== undefined) return undefined
      const rest = log
        .slice(start)
        .filter((attempt) => webhookId === undefined || attempt.webhookId === webhookId)
      const attempts = rest.slice(0, limit)
      return { attempts, next: rest.length > limit ? attempts.at(-1)?.id : undefined }
    },
    clear() {
      log.length = 0
    },
  }
}
