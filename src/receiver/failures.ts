import { configInvalid } from '../errors.ts'

/**
 * Thrown by a handler if no further attempt can succeed: the inbox makes the delivery a dead letter at once. If several
 * handlers fail, this counts only if all of them throw it. In a group of the option `coalesce`, it is an ordinary failure,
 * and each delivery is retried alone. Without an inbox, the sender gets 500. Recognized by its `code`.
 *
 * @example
 * ```ts
 * import { createReceiver, PermanentFailure } from 'geohook'
 *
 * createReceiver({ signatureKey: 'parcels2026' }).on('FeaturesCreated', (event) => {
 *   if (!event.changesUrl) throw new PermanentFailure('the event has no changesUrl')
 * })
 * ```
 */
export class PermanentFailure extends Error {
  override readonly name = 'PermanentFailure'
  readonly code = 'permanent_failure'
}

/**
 * Thrown by a handler to choose when the next attempt begins, for example because another service asked to wait. The
 * inbox waits for at most four times its `maxRetryDelay`. The attempt counts. If several handlers throw it, the latest
 * time counts. Without an inbox, the sender gets 500 with the header `Retry-After`. Recognized by its `code`.
 *
 * @example
 * ```ts
 * import { createReceiver, RetryAfter } from 'geohook'
 *
 * createReceiver({ signatureKey: 'parcels2026' }).on('FeaturesCreated', async (event, delivery, { signal }) => {
 *   const response = await fetch('https://erp.example/sync', { method: 'POST', signal })
 *   if (response.status === 429) throw new RetryAfter(60)
 * })
 * ```
 */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter'
  readonly code = 'retry_after'
  /** Seconds from now on, or a time. */
  readonly after: number | Date

  /**
   * @param after seconds from 0, or a time
   * @throws {WebhookError} `config_invalid`
   */
  constructor(after: number | Date, options: { message?: string; cause?: unknown } = {}) {
    if (!isAfter(after)) throw configInvalid('RetryAfter needs seconds from 0, or a valid Date')
    super(options.message ?? 'the handler asked for a later attempt', options) // `Error` reads only `cause` from it
    this.after = after
  }
}

const isAfter = (after: unknown): after is number | Date =>
  typeof after === 'number' ? after >= 0 && after < Infinity : after instanceof Date && !Number.isNaN(+after)

/** True if handlers threw only permanent failures. */
export const isPermanent = (thrown: unknown): boolean => {
  const errors = errorsOf(thrown)
  return errors.length > 0 && errors.every((error) => error.code === 'permanent_failure')
}

/** Milliseconds until the next attempt that handlers asked for. Undefined if none did. */
export function requestedDelay(thrown: unknown, now: number): number | undefined {
  const delays = errorsOf(thrown).flatMap(({ code, after }) => {
    if (code !== 'retry_after' || !isAfter(after)) return []
    return typeof after === 'number' ? after * 1_000 : Math.max(0, +after - now)
  })
  return delays.length > 0 ? Math.max(...delays) : undefined
}

interface Thrown {
  code?: unknown
  after?: unknown
}

/** The errors of all handlers. Empty if they cannot be read: handlers can throw anything. */
function errorsOf(thrown: unknown): Thrown[] {
  try {
    const errors: unknown[] = thrown instanceof AggregateError ? thrown.errors : [thrown]
    return errors.map((error) => {
      const { code, after } = Object(error) as Thrown
      return { code, after }
    })
  } catch {
    return []
  }
}
