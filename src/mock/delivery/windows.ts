import type { Clock } from '../clock.ts'
import type { ScheduleInfo } from '../state/webhook.ts'
import { windowEnd } from './schedule.ts'

/** What {@link createWindows} takes. */
export interface WindowsOptions<E, R> {
  clock: Clock
  /** The webhook's schedule as it is now; undefined where it shall not gather any more. */
  scheduleOf(webhookId: string): ScheduleInfo | undefined
  /** Called when a window has closed. */
  flush(webhookId: string, events: readonly E[]): Promise<R[]>
}

/** The open windows, one for each webhook at most (specification, "scheduleInfo object"). */
export interface Windows<E, R> {
  /** @returns what the window's delivery came to, once it has closed */
  add(webhookId: string, events: readonly E[]): Promise<R[]>
  /** The webhook has changed, and with it perhaps the schedule; without an id, all webhooks. */
  changed(webhookId?: string): void
  /** Drops all that was gathered. */
  clear(): void
  /** Closes all windows now; those to come close at once. */
  close(): void
}

interface Window<E, R> {
  readonly openedAt: number
  readonly events: E[]
  done: Promise<R[]>
  /** Ends the wait for the end of the window. */
  wake: AbortController
  dropped: boolean
}

/** A window closes early rather than gather more. */
const MAX_EVENTS = 10_000

export function createWindows<E, R>({ clock, scheduleOf, flush }: WindowsOptions<E, R>): Windows<E, R> {
  const windows = new Map<string, Window<E, R>>()
  let closed = false

  /** How long it stays open: 0 or less once it is over. */
  function timeLeft(webhookId: string, { openedAt }: Window<E, R>): number {
    const schedule = scheduleOf(webhookId)
    return schedule ? windowEnd(schedule, openedAt) - clock.now() : 0
  }

  async function run(webhookId: string, window: Window<E, R>): Promise<R[]> {
    while (!closed && !window.dropped && window.events.length < MAX_EVENTS) {
      const left = timeLeft(webhookId, window)
      if (left <= 0) break
      window.wake = new AbortController()
      await clock.wait(left, window.wake.signal).catch(() => {}) // woken: look again
    }
    if (windows.get(webhookId) === window) windows.delete(webhookId)
    return window.dropped ? [] : flush(webhookId, window.events)
  }

  return {
    add(webhookId, events) {
      const open = windows.get(webhookId)
      // A timer may be late: what happens once a window is over, or full, belongs to the next.
      const isOver = open && (open.events.length >= MAX_EVENTS || timeLeft(webhookId, open) <= 0)
      if (isOver) open.wake.abort()
      else if (open) {
        for (const event of events) open.events.push(event)
        if (open.events.length >= MAX_EVENTS) open.wake.abort()
        return open.done
      }
      const window: Window<E, R> = {
        openedAt: clock.now(),
        events: [...events],
        done: Promise.resolve([]),
        wake: new AbortController(),
        dropped: false,
      }
      windows.set(webhookId, window)
      window.done = run(webhookId, window)
      return window.done
    },
    changed(webhookId) {
      const changed = webhookId === undefined ? [...windows.values()] : [windows.get(webhookId)]
      for (const window of changed) window?.wake.abort()
    },
    clear() {
      for (const window of windows.values()) {
        window.dropped = true
        window.wake.abort()
      }
      windows.clear()
    },
    close() {
      closed = true
      for (const window of windows.values()) window.wake.abort()
    },
  }
}
