import type { DeliverySettings } from '../delivery-settings.ts'

/** One webhook's deliveries that failed, as in a snapshot. */
export interface FailureRecord {
  webhookId: string
  /** When each failed, in milliseconds since 1970, oldest first. */
  times: number[]
}

/** The deliveries that failed: all attempts spent, none answered with success. */
export interface FailureLog {
  /** @returns whether it was one too many, so that the webhook is to be switched off */
  add(webhookId: string, time: number, settings: DeliverySettings): boolean
  of(webhookId: string): readonly number[]
  /**
   * A webhook that is switched on again, or deleted, starts anew.
   *
   * @returns whether there was something to forget
   */
  clear(webhookId: string): boolean
  all(): FailureRecord[]
  restore(records: readonly FailureRecord[]): void
}

const DAY = 86_400_000
/** Of each webhook, enough for the largest `numberOfFailures`. */
const MAX_TIMES = 1000

export function createFailureLog(): FailureLog {
  const failures = new Map<string, number[]>()
  return {
    add(webhookId, time, { numberOfFailures, daysInPast }) {
      const times = [...(failures.get(webhookId) ?? []), time].slice(-MAX_TIMES)
      failures.set(webhookId, times)
      return times.filter((past) => past > time - daysInPast * DAY).length >= numberOfFailures
    },
    of: (webhookId) => failures.get(webhookId) ?? [],
    clear: (webhookId) => failures.delete(webhookId),
    all: () => [...failures].map(([webhookId, times]) => ({ webhookId, times: [...times] })),
    restore(records) {
      failures.clear()
      for (const { webhookId, times } of records) failures.set(webhookId, times.slice(-MAX_TIMES))
    },
  }
}
