import { createManualClock } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { answering, CREATED, createAt, every, named, receive, statusesOf } from './support.ts'

describe('a manual clock', () => {
  it('starts at the given time, or now', () => {
    expect(createManualClock(42).now()).toBe(42)
    const before = Date.now()
    const now = createManualClock().now()
    expect(now).toBeGreaterThanOrEqual(before)
    expect(now).toBeLessThanOrEqual(Date.now())
  })

  it('advances even if no task waits', async () => {
    const clock = createManualClock(0)
    await clock.advance(1_000)
    await clock.advance(0)
    expect(clock.now()).toBe(1_000)
  })

  it('advances from one waiting task to the next, including tasks that start waiting in the meantime', async () => {
    const clock = createManualClock(0)
    const seen: [string, number][] = []
    const task = async (name: string, ...waits: number[]): Promise<void> => {
      for (const wait of waits) {
        await clock.wait(wait)
        seen.push([name, clock.now()])
      }
    }
    const tasks = [task('a', 30, 30), task('b', 10, 20, 31), task('c', 60)]
    await clock.advance(60)
    expect(seen).toEqual([
      ['b', 10],
      ['a', 30],
      ['b', 30],
      ['c', 60],
      ['a', 60],
    ])
    await clock.advance(1)
    await Promise.all(tasks)
    expect(seen.at(-1)).toEqual(['b', 61])
  })

  it('resolves a wait of 0 milliseconds immediately', async () => {
    const clock = createManualClock(0)
    await Promise.all([clock.wait(0), clock.wait(-1)])
    expect(clock.now()).toBe(0)
  })

  it('a wait can be aborted, even before it begins', async () => {
    const clock = createManualClock(0)
    const controller = new AbortController()
    const waits = [clock.wait(5, controller.signal), clock.wait(0, AbortSignal.abort('late'))]
    controller.abort('early')
    expect(await Promise.allSettled(waits)).toMatchObject([{ reason: 'early' }, { reason: 'late' }])
    await clock.advance(10)
    expect(clock.now()).toBe(10)
  })

  it('adds up concurrent calls', async () => {
    const clock = createManualClock(0)
    const seen: number[] = []
    const waits = [5, 15].map((due) => clock.wait(due).then(() => seen.push(clock.now())))
    await Promise.all([clock.advance(10), clock.advance(4), clock.advance(6)])
    await Promise.all(waits)
    expect([seen, clock.now()]).toEqual([[5, 15], 20])
  })

  it.each([-1, Number.NaN, 0.5, 8.64e15 + 1, 1e308])(
    'refuses to advance by %d, because times are whole milliseconds of 0 or more, and dates have a last one',
    async (milliseconds) => {
      const clock = createManualClock(0)
      await expect(clock.advance(milliseconds)).rejects.toMatchObject({ code: 'config_invalid' })
      expect(clock.now()).toBe(0)
    },
  )

  it('pauses while an attempt is in flight', async () => {
    const times: number[] = []
    const { url } = await receive((number, _req, res) => {
      // The receiver responds only after the test has called `clock.advance()`.
      setTimeout(() => {
        times.push(clock.now())
        res.writeHead(number === 1 ? 500 : 200).end()
      }, 20)
    })
    const { service, clock } = createAt(named(url, { a: { scheduleInfo: every(1, 'hour') } }))
    const triggered = service.trigger(CREATED)
    const start = clock.now()
    await clock.advance(86_400_000)
    expect(statusesOf(await triggered)).toEqual([500, 200])
    expect(times.map((time) => time - start)).toEqual([3_600_000, 3_605_000])
    expect(clock.now() - start).toBe(86_400_000)
  })

  it('a retry gap of 0 seconds needs no advance of the clock', async () => {
    const { url } = await receive(answering(500, 500, 200))
    const { service } = createAt(named(url, { a: {} }), { settings: { notificationElapsedTimeInSeconds: 0 } })
    expect(statusesOf(await service.trigger(CREATED))).toEqual([500, 500, 200])
  })
})
