import dayjs from 'dayjs'
import utc from 'dayjs/plugin/utc.js'
import type { ScheduleInfo } from '../state/webhook.ts'

dayjs.extend(utc)

/**
 * When the window that is open at `now` closes. Windows follow one another from `startAt` on, each `interval` times
 * `frequency` long, in UTC; before `startAt` one is open that closes then. A month that is too short for the day of
 * `startAt` has its last day instead.
 *
 * @returns milliseconds since 1970, later than `now`; Infinity beyond the end of all dates
 */
export function windowEnd(
  { startAt, recurrenceInfo: { interval, frequency } }: ScheduleInfo,
  now: number,
): number {
  if (now < startAt) return startAt
  const start = dayjs.utc(startAt)
  // Counted from the start, not from one window to the next: 31 January, 28 February, 31 March.
  let windows = Math.max(0, Math.floor(dayjs.utc(now).diff(start, frequency) / interval) - 1)
  let end: number
  do {
    windows += 1
    end = start.add(windows * interval, frequency).valueOf()
  } while (end <= now)
  return Number.isNaN(end) ? Infinity : end
}
