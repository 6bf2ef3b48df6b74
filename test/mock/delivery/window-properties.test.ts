import dayjs from 'dayjs'
import utc from 'dayjs/plugin/utc.js'
import fc from 'fast-check'
import type { ScheduleInfo } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { windowEnd } from '../../../src/mock/delivery/windows.ts'
import { seed } from '../support.ts'
import { CREATED, createAt, every, PLAIN, payloadOf, receive } from './support.ts'

dayjs.extend(utc)

const frequencies = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const
const UNITS = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000, week: 604_800_000 }

const frequency = fc.constantFrom(...frequencies)
const interval = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 1_000_000 }))
/** Times from 1970 to 2100, often midnight at the end of a month. */
const time = fc.oneof(
  fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }),
  fc
    .tuple(
      fc.integer({ min: 1970, max: 2099 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: -1, max: 1 }),
    )
    .map(([year, month, offset]) => Math.max(0, Date.UTC(year, month, 0) + offset)),
)
const schedule = fc
  .tuple(interval, frequency, time)
  .map(([interval, frequency, startAt]) => every(interval, frequency, { startAt }))

/** True if `end` is `startAt` or a whole number of steps later. Uses only JavaScript's `Date`, not dayjs. */
function isStep({ startAt, recurrenceInfo: { interval, frequency } }: ScheduleInfo, end: number): boolean {
  if (end === startAt) return true
  if (frequency !== 'month' && frequency !== 'year')
    return end > startAt && (end - startAt) % (interval * UNITS[frequency]) === 0
  const [from, to] = [new Date(startAt), new Date(end)]
  const months = (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth()
  const lastDay = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth() + 1, 0)).getUTCDate()
  return (
    months > 0 &&
    months % (interval * (frequency === 'year' ? 12 : 1)) === 0 &&
    to.getUTCDate() === Math.min(from.getUTCDate(), lastDay) &&
    end % UNITS.day === startAt % UNITS.day
  )
}

/** fast-check prints the seed and path of a failure; set `seed` in the options to repeat it. */
const runs = (numRuns: number): fc.Parameters<unknown> => ({ numRuns, verbose: 1 })

describe('the end of a window', () => {
  it('is later than now, and a whole number of steps after startAt', () => {
    fc.assert(
      fc.property(schedule, time, (scheduleInfo, now) => {
        const end = windowEnd(scheduleInfo, now)
        expect(end).toBeGreaterThan(now)
        if (end !== Infinity) expect(isStep(scheduleInfo, end)).toBe(true)
      }),
      runs(3_000),
    )
  })

  it('is the first such time, so no window is longer than one step', () => {
    fc.assert(
      fc.property(schedule, time, (scheduleInfo, now) => {
        const { startAt, recurrenceInfo } = scheduleInfo
        const end = windowEnd(scheduleInfo, now)
        if (end === Infinity || end === startAt) return
        const { interval, frequency } = recurrenceInfo
        const steps = Math.round(dayjs.utc(end).diff(startAt, frequency, true) / interval)
        const previous = dayjs
          .utc(startAt)
          .add((steps - 1) * interval, frequency)
          .valueOf()
        expect(previous).toBeLessThanOrEqual(now)
      }),
      runs(3_000),
    )
  })

  it('belongs to the next window, and the millisecond before it to this window', () => {
    fc.assert(
      fc.property(schedule, time, fc.nat({ max: 10_000_000_000 }), (scheduleInfo, now, later) => {
        const end = windowEnd(scheduleInfo, now)
        if (end !== Infinity) {
          expect(windowEnd(scheduleInfo, end - 1)).toBe(end)
          expect(windowEnd(scheduleInfo, end)).toBeGreaterThan(end)
        }
        expect(windowEnd(scheduleInfo, now + later)).toBeGreaterThanOrEqual(end)
      }),
      runs(3_000),
    )
  })
})

describe('through the public API', () => {
  it('every event is in exactly one delivery, that of its window', async () => {
    const receiver = await receive()
    const start = Date.UTC(2024, 0, 31)
    const scheduleNear = fc
      .tuple(fc.integer({ min: 1, max: 5 }), frequency, fc.integer({ min: -4e9, max: 4e8 }))
      .map(([interval, frequency, offset]) => every(interval, frequency, { startAt: start + offset }))
    const gaps = fc.array(fc.oneof(fc.nat(2_000), fc.nat(90_000), fc.nat(1e9)), {
      minLength: 1,
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(scheduleNear, gaps, async (scheduleInfo, gaps) => {
        const { service, clock } = createAt([seed(PLAIN, { hookUrl: receiver.url, scheduleInfo })], {}, start)
        receiver.requests.length = 0
        const expected = new Map<number, number[]>()
        const triggered: Promise<unknown>[] = []
        for (const gap of gaps) {
          await clock.advance(gap)
          const now = clock.now()
          const end = windowEnd(scheduleInfo, now)
          expected.set(end, [...(expected.get(end) ?? []), now])
          triggered.push(service.trigger(CREATED))
        }
        await clock.advance(6 * 366 * 86_400_000)
        await Promise.all(triggered)
        const sent = receiver.requests.map((request) => payloadOf(request).events.map(({ when }) => when))
        expect(service.deliveries.map(({ sentAt }, i) => [sentAt, sent[i]])).toEqual([...expected])
        await service.close()
      }),
      runs(40),
    )
  })
})
