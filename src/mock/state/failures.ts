import type { DeliverySettings } from '../delivery-settings.ts'

/** Failed deliveries of one webhook, as in a snapshot. */
export interface FailureRecord {
  webhookId: string
  /** Time of each failure in milliseconds since 1970, oldest first. */
  times: number[]
}

/** Records failed deliveries: those whose attempts have all failed. */
export interface FailureLog {
  /** @returns true if the webhook must be deactivated */
  add(webhookId: string, time: number, settings: DeliverySettings): boolean
  of(webhookId: string): readonly number[]
  /**
   * Forgets the failures of a webhook, for example after the webhook was reactivated.
   *
   * @returns false if the webhook had no failures
   */
  clear(webhookId: string): boolean
  all(): FailureRecord[]
  restore(records: readonly FailureRecord[]): void
}

const DAY = 86_400_000
/** Maximum number of failures kept per webhook: the upper bound of `numberOfFailures`. */
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
