import { isSuccess } from '../../shared/status.ts'
import type { Attempt } from '../state/records.ts'
import type { Webhook } from '../state/webhooks.ts'

/** What the mock keeps of an attempt in addition to its request: the webhook may be edited or deleted later. */
export interface AttemptRecord {
  /** The webhook as it was when the request was written. Contains its key. */
  readonly webhook: Readonly<Webhook>
  /** The body before it was signed, and before a fault changed it. */
  readonly payload: Uint8Array
  /** Content type of the payload. */
  readonly contentType: string
}

const MAX_ATTEMPTS = 1000

/** The last thousand attempts, oldest first. */
export class AttemptLog {
  readonly #attempts: Attempt[] = []
  /** The records of the last thousand attempts, by their ids. They include every attempt in the log. */
  readonly records: Map<string, AttemptRecord> = new Map()

  /** @returns a new array */
  list(): Attempt[] {
    return [...this.#attempts]
  }

  add(attempt: Attempt, record: AttemptRecord | undefined): void {
    this.#attempts.push(attempt)
    if (this.#attempts.length > MAX_ATTEMPTS) this.#attempts.shift()
    if (!record) return
    this.records.set(attempt.id, record)
    const [oldest = ''] = this.records.keys()
    if (this.records.size > MAX_ATTEMPTS) this.records.delete(oldest)
  }

  get(id: string): Attempt | undefined {
    return this.#attempts.find((attempt) => attempt.id === id)
  }

  clear(): void {
    this.#attempts.length = 0
  }
}

export const hasSucceeded = ({ answer }: Attempt): boolean => isSuccess(answer?.status)

/** If every address of a host name fails, Node throws an AggregateError without a message. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
