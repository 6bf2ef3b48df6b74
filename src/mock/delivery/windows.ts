import { type Clock, LAST_TIME } from '../clock.ts'
import type { ServiceEvent } from '../state/events.ts'
import type { ScheduleInfo } from '../state/webhooks.ts'
import type { Attempt } from './attempt.ts'

/** An open window, for display. */
export interface OpenWindow {
  webhookId: string
  /** Number of gathered events. */
  events: number
  /** Milliseconds until it closes; 0 if it is closing, Infinity if it never closes by itself. */
  remaining: number
}

/** Open windows, at most one for each webhook (docs/specification.md, "Schedule"). */
export interface Windows {
  /** @returns the result of `flush`, after the window has closed */
  add(webhookId: string, events: readonly ServiceEvent[]): Promise<Attempt[]>
  /** Applies the current schedule of a webhook to its open window; without an id, does so for all webhooks. */
  changed(webhookId?: string): void
  /** Returns the open windows, oldest first. */
  list(): OpenWindow[]
  /** Drops all gathered events. */
  clear(): void
  /** Closes all windows. Windows that open later close immediately. */
  close(): void
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

/**
 * @param scheduleOf returns the webhook's current schedule; undefined if the webhook currently gathers no events
 * @param flush called when a window has closed
 */
export function createWindows(
  clock: Clock,
  scheduleOf: (webhookId: string) => ScheduleInfo | undefined,
  flush: (webhookId: string, events: readonly ServiceEvent[]) => Promise<Attempt[]>,
): Windows {
  const windows = new Map<string, Window>()
  let isClosed = false

  /** Milliseconds until the window ends: 0 or less if it is over. */
  function remaining(webhookId: string, { openedAt }: Window): number {
    const schedule = scheduleOf(webhookId)
    return schedule ? windowEnd(schedule, openedAt) - clock.now() : 0
  }

  async function run(webhookId: string, window: Window): Promise<Attempt[]> {
    while (!isClosed && !window.isDropped && window.events.length < MAX_EVENTS) {
      const milliseconds = remaining(webhookId, window)
      if (milliseconds <= 0) break
      window.wake = new AbortController()
      await clock.wait(milliseconds, window.wake.signal).catch(() => {}) // aborted: check again
    }
    if (windows.get(webhookId) === window) windows.delete(webhookId)
    return window.isDropped ? [] : flush(webhookId, window.events)
  }

  return {
    add(webhookId, events) {
      const open = windows.get(webhookId)
      // A timer may be late. Events that arrive after the end of the window belong to the next window.
      const isOver = open && (open.events.length >= MAX_EVENTS || remaining(webhookId, open) <= 0)
      if (isOver) open.wake.abort()
      else if (open) {
        for (const event of events) open.events.push(event)
        if (open.events.length >= MAX_EVENTS) open.wake.abort()
        return open.flushed
      }
      const window: Window = {
        openedAt: clock.now(),
        events: [...events],
        flushed: Promise.resolve([]),
        wake: new AbortController(),
        isDropped: false,
      }
      windows.set(webhookId, window)
      window.flushed = run(webhookId, window)
      return window.flushed
    },
    changed(webhookId) {
      const changed = webhookId === undefined ? [...windows.values()] : [windows.get(webhookId)]
      for (const window of changed) window?.wake.abort()
    },
    list: () =>
      [...windows].map(([webhookId, window]) => ({
        webhookId,
        events: window.events.length,
        remaining: Math.max(0, remaining(webhookId, window)),
      })),
    clear() {
      for (const window of windows.values()) {
        window.isDropped = true
        window.wake.abort()
      }
      windows.clear()
    },
    close() {
      isClosed = true
      for (const window of windows.values()) window.wake.abort()
    },
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
