import type { DeliverySettings } from '../schemas.ts'
import { type Service, servicePath } from './services.ts'

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

/** Result of the last handshake of a webhook, as in a snapshot. */
export interface HandshakeRecord {
  webhookId: string
  /** When the handshake ended, in milliseconds since 1970. */
  when: number
  /** Why it failed. Absent if it succeeded. */
  reason?: string | undefined
  /** Number of events not sent since the handshake failed. Absent if it is 0. */
  notSent?: number | undefined
}

/** Records the last handshake of each webhook. */
export interface HandshakeLog {
  /** Returns undefined if the webhook had no handshake, or must repeat it. */
  of(webhookId: string): Readonly<HandshakeRecord> | undefined
  put(record: HandshakeRecord): void
  /** Forgets the handshake of a webhook, for example after its URL was edited. */
  clear(webhookId: string): void
  all(): HandshakeRecord[]
  restore(records: readonly HandshakeRecord[]): void
}

export function createHandshakeLog(): HandshakeLog {
  const records = new Map<string, HandshakeRecord>()
  return {
    of: (webhookId) => records.get(webhookId),
    put: (record) => void records.set(record.webhookId, record),
    clear: (webhookId) => void records.delete(webhookId),
    all: () => [...records.values()].map((record) => ({ ...record })),
    restore(restored) {
      records.clear()
      for (const record of restored) records.set(record.webhookId, { ...record })
    },
  }
}

/** The current generation of each service. It starts as the time of the first use, and each change adds 1. */
export interface Generations {
  current(service: Readonly<Service>): number
  /** @returns the generation before the changes */
  advance(service: Readonly<Service>, changes: number): number
  /** Raises the generation of a service; a lower number changes nothing. @returns the current generation */
  raise(service: Readonly<Service>, generation: number): number
  /** Forgets the generation of a service, so that the next use starts again. */
  forget(service: Readonly<Service>): void
}

export function createGenerations(now: () => number): Generations {
  const byPath = new Map<string, number>()
  function set(service: Readonly<Service>, generation: number): number {
    byPath.set(servicePath(service), generation)
    return generation
  }
  const current = (service: Readonly<Service>): number =>
    byPath.get(servicePath(service)) ?? set(service, now())
  return {
    current,
    advance(service, changes) {
      const before = current(service)
      set(service, before + changes)
      return before
    },
    raise: (service, generation) =>
      set(service, Math.max(generation, byPath.get(servicePath(service)) ?? generation)),
    forget: (service) => void byPath.delete(servicePath(service)),
  }
}
