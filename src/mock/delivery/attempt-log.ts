import type { SignedRequest } from '../../testing/signer.ts'
import type { Answer } from './answer.ts'
import type { FaultName } from './faults.ts'

/** One attempt, as it was sent. */
export interface Attempt {
  id: string
  /** The same for every attempt of one delivery. */
  deliveryId: string
  webhookId: string
  /** 1 for the first attempt of a delivery. */
  number: number
  hookUrl: string
  /** Milliseconds since 1970. */
  sentAt: number
  /** As it was sent, with `host` and `content-length`. */
  request: SignedRequest
  /** How much of the body was sent, where the fault is one of the connection. */
  bytesSent?: number
  /** What the receiver answered; absent where it did not. */
  answer?: Answer
  /** Why there is no answer. */
  error?: string
  /** How long it took; absent while it is on the wire. */
  milliseconds?: number
  /** What was done to it on purpose. */
  fault?: FaultName
}

/** A part of the record. */
export interface AttemptPage {
  attempts: readonly Attempt[]
  /** The id after which the next page begins; undefined on the last. */
  next: string | undefined
}

/** The record of all attempts: the last thousand. */
export interface AttemptLog {
  /** @returns a list of its own, oldest first */
  list(): Attempt[]
  add(attempt: Attempt): void
  get(id: string): Attempt | undefined
  /** @returns undefined where there is no attempt `after` */
  page(query: {
    limit: number
    after?: string | undefined
    webhookId?: string | undefined
  }): AttemptPage | undefined
  clear(): void
}

const MAX_RECORDS = 1000

/**
 * A new attempt takes the place of the oldest. A list that is pushed and shifted moves to other memory now and then, and
 * what its old memory refers to stays until V8 collects the garbage of all generations.
 */
export function createAttemptLog(): AttemptLog {
  const places: Attempt[] = []
  let oldest = 0
  const list = (): Attempt[] => [...places.slice(oldest), ...places.slice(0, oldest)]

  return {
    list,
    add(attempt) {
      if (places.length < MAX_RECORDS) {
        places.push(attempt)
      } else {
        places[oldest] = attempt
        oldest = (oldest + 1) % MAX_RECORDS
      }
    },
    get: (id) => places.find((attempt) => attempt.id === id),
    page({ limit, after, webhookId }) {
      const attempts = list()
      const start = after === undefined ? 0 : attempts.findIndex(({ id }) => id === after) + 1
      if (start === 0 && after !== undefined) return undefined
      const rest = attempts
        .slice(start)
        .filter((attempt) => webhookId === undefined || attempt.webhookId === webhookId)
      const page = rest.slice(0, limit)
      return { attempts: page, next: rest.length > limit ? page.at(-1)?.id : undefined }
    },
    clear() {
      places.length = 0
      oldest = 0
    },
  }
}
