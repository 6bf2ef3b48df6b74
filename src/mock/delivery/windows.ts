import { type Clock, LAST_TIME } from '../clock.ts'
import type { ServiceEvent } from '../state/events.ts'
import type { Attempt } from '../state/records.ts'
import type { ScheduleInfo } from '../state/webhooks.ts'

/** An open window, for display. */
export interface OpenWindow {
  webhookId: string
  /** Number of gathered events. */
  events: number
  /** Milliseconds until it closes; 0 if it is closing, Infinity if it never closes by itself. */
  remaining: number
}

interface Window {
  readonly openedAt: number
  readonly events: ServiceEvent[]
  flushed: Promise<Attempt[]>
  /** Aborted to interrupt the wait for the end of the window, so that the end is computed again. */
  wake: AbortController
  isDropped: boolean
}

/** Maximum number of events in a window; a full window closes early. */
const MAX_EVENTS = 10_000

/** Open windows, at most one for each webhook (docs/specification.md, "Schedule"). */
export class Windows {
  readonly #clock: Clock
  readonly #scheduleOf: (webhookId: string) => ScheduleInfo | undefined
  readonly #flush: (webhookId: string, events: readonly ServiceEvent[]) => Promise<Attempt[]>
  readonly #windows = new Map<string, Window>()
  #isClosed = false

  /**
   * @param scheduleOf returns the webhook's current schedule; undefined if the webhook currently gathers no events
   * @param flush called when a window has closed
   */
  constructor(
    clock: Clock,
    scheduleOf: (webhookId: string) => ScheduleInfo | undefined,
    flush: (webhookId: string, events: readonly ServiceEvent[]) => Promise<Attempt[]>,
  ) {
    this.#clock = clock
    this.#scheduleOf = scheduleOf
    this.#flush = flush
  }

  /** @returns the result of `flush`, after the window has closed */
  add(webhookId: string, events: readonly ServiceEvent[]): Promise<Attempt[]> {
    const open = this.#windows.get(webhookId)
    // A timer may be late. Events that arrive after the end of the window belong to the next window.
    const isOver = open && (open.events.length >= MAX_EVENTS || this.#remaining(webhookId, open) <= 0)
    if (isOver) open.wake.abort()
    else if (open) {
      for (const event of events) open.events.push(event)
      if (open.events.length >= MAX_EVENTS) open.wake.abort()
      return open.flushed
    }
    const window: Window = {
      openedAt: this.#clock.now(),
      events: [...events],
      flushed: Promise.resolve([]),
      wake: new AbortController(),
      isDropped: false,
    }
    this.#windows.set(webhookId, window)
    window.flushed = this.#run(webhookId, window)
    return window.flushed
  }

  /** Applies the current schedule of a webhook to its open window; without an id, does so for all webhooks. */
  changed(webhookId?: string): void {
    const changed = webhookId === undefined ? [...this.#windows.values()] : [this.#windows.get(webhookId)]
    for (const window of changed) window?.wake.abort()
  }

  /** Returns the open windows, oldest first. */
  list(): OpenWindow[] {
    return [...this.#windows].map(([webhookId, window]) => ({
      webhookId,
      events: window.events.length,
      remaining: Math.max(0, this.#remaining(webhookId, window)),
    }))
  }

  /** Drops all gathered events. */
  clear(): void {
    for (const window of this.#windows.values()) {
      window.isDropped = true
      window.wake.abort()
    }
    this.#windows.clear()
  }

  /** Closes all windows. Windows that open later close immediately. */
  close(): void {
    this.#isClosed = true
    this.changed()
  }

  /** Milliseconds until the window ends: 0 or less if it is over. */
  #remaining(webhookId: string, { openedAt }: Window): number {
    const schedule = this.#scheduleOf(webhookId)
    return schedule ? windowEnd(schedule, openedAt) - this.#clock.now() : 0
  }

  async #run(webhookId: string, window: Window): Promise<Attempt[]> {
    while (!this.#isClosed && !window.isDropped && window.events.length < MAX_EVENTS) {
      const milliseconds = this.#remaining(webhookId, window)
      if (milliseconds <= 0) break
      window.wake = new AbortController()
      await this.#clock.wait(milliseconds, window.wake.signal).catch(() => {}) // aborted: check again
    }
    if (this.#windows.get(webhookId) === window) this.#windows.delete(webhookId)
    return window.isDropped ? [] : this.#flush(webhookId, window.events)
  }
}

const MINUTE = 60_000
const UNITS = { second: 1_000, minute: MINUTE, hour: 60 * MINUTE, day: 1_440 * MINUTE, week: 10_080 * MINUTE }

/**
 * End of the window that is open at `now`. From `startAt` on, each window lasts `interval` times `frequency`, in UTC;
 * an earlier window lasts until `startAt`. In a month without the day of `startAt`, the last day is used.
 *
 * @returns milliseconds since 1970, later than `now`; Infinity past the last valid date
 */
export function windowEnd(
  { startAt, recurrenceInfo: { interval, frequency } }: ScheduleInfo,
  now: number,
): number {
  if (now < startAt) return startAt
  if (frequency !== 'month' && frequency !== 'year') {
    const length = interval * UNITS[frequency]
    const end = startAt + (Math.floor((now - startAt) / length) + 1) * length
    return end <= LAST_TIME ? end : Infinity
  }
  const months = frequency === 'year' ? 12 * interval : interval
  // Counts from `startAt`, not from the previous end: 31 January, 28 February, then 31 March, not 28 March.
  let windows = Math.floor((monthOf(now) - monthOf(startAt)) / months)
  let end = addMonths(startAt, windows * months)
  while (end <= now) {
    windows += 1
    end = addMonths(startAt, windows * months)
  }
  return Number.isNaN(end) ? Infinity : end
}

/** Number of months since the year 0. */
function monthOf(time: number): number {
  const date = new Date(time)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

function addMonths(time: number, months: number): number {
  const date = new Date(time)
  const day = date.getUTCDate()
  date.setUTCMonth(date.getUTCMonth() + months)
  if (date.getUTCDate() !== day) date.setUTCDate(0) // the last day of the month before
  return date.getTime()
}
