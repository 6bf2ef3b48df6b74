import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createCapacity } from '../../src/inbox/capacity.ts'

describe('the capacity of an inbox', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  /** Creates a capacity whose counts end only when the test calls `answer`. */
  function createPausedCapacity() {
    const answers: { resolve(count: number): void; reject(error: Error): void }[] = []
    const count = () => new Promise<number>((resolve, reject) => answers.push({ resolve, reject }))
    const answer = async (result: number | Error) => {
      const last = answers.at(-1)
      if (typeof result === 'number') last?.resolve(result)
      else last?.reject(result)
      await new Promise((resolve) => setTimeout(resolve))
    }
    return { ...createCapacity(count), answer, counts: () => answers.length }
  }

  it('is counted once for many deliveries', async () => {
    const limits: number[] = []
    const capacity = createCapacity(async (limit) => limits.push(limit) * 0 + 7)
    const acquired = await Promise.all([1, 2, 3, 4].map(() => capacity.acquire(10)))
    expect(acquired).toEqual([true, true, true, false])
    expect(limits).toEqual([10])
  })

  it('grows by a place that was not used, and shrinks by one that was', async () => {
    const capacity = createCapacity(async () => 0)
    expect([await capacity.acquire(2), await capacity.acquire(2), await capacity.acquire(2)]).toEqual([
      true,
      true,
      false,
    ])
    capacity.release(false)
    expect(await capacity.acquire(2)).toBe(true)
    capacity.release(true)
    capacity.release(true)
    expect(await capacity.acquire(2)).toBe(false)
    expect(await capacity.acquire(3)).toBe(true)
  })

  it('is counted once a second, and more often when few places are left', async () => {
    let counts = 0
    const countsAfter = async (milliseconds: number) => {
      vi.advanceTimersByTime(milliseconds)
      if (await capacity.acquire(10)) capacity.release(false)
      return counts
    }
    let pending = 0
    const capacity = createCapacity(async () => {
      counts++
      return pending
    })
    expect([await countsAfter(0), await countsAfter(1_000), await countsAfter(1)]).toEqual([1, 1, 2])
    pending = 5
    expect(await countsAfter(1_001)).toBe(3)
    expect([await countsAfter(500), await countsAfter(1)]).toEqual([3, 4])
    pending = 10
    expect(await countsAfter(501)).toBe(5)
    expect([await countsAfter(100), await countsAfter(1)]).toEqual([5, 6])
  })

  it('is counted during at most a tenth of the time', async () => {
    let counts = 0
    const capacity = createCapacity(async () => {
      counts++
      vi.advanceTimersByTime(500)
      return 10
    })
    for (const milliseconds of [0, 5_000, 1]) {
      vi.advanceTimersByTime(milliseconds)
      expect(await capacity.acquire(10)).toBe(false)
      expect(counts).toBe(milliseconds === 1 ? 2 : 1)
    }
  })

  it('lets only the first delivery, and those without a free place, wait for a count', async () => {
    const { acquire, answer, counts } = createPausedCapacity()
    const first = acquire(3)
    await answer(0)
    expect(await first).toBe(true)
    vi.advanceTimersByTime(1_001)
    expect([await acquire(3), await acquire(3), counts()]).toEqual([true, true, 2])
    const waiting = [acquire(3), acquire(3)]
    await answer(-1) // less than before, because the first delivery is done
    expect(await Promise.all(waiting)).toEqual([true, false])
    expect(counts()).toBe(2)
  })

  it('includes the deliveries that were added during a count', async () => {
    const { acquire, release, answer } = createPausedCapacity()
    const first = acquire(3)
    await answer(0)
    await first
    vi.advanceTimersByTime(1_001)
    expect(await acquire(3)).toBe(true)
    release(true)
    await answer(0) // the count began before the delivery was stored
    expect([await acquire(3), await acquire(3)]).toEqual([true, false])
  })

  it('is counted again after an error', async () => {
    const { acquire, answer } = createPausedCapacity()
    const first = acquire(3)
    const rejected = expect(first).rejects.toThrow('down')
    await answer(new Error('down'))
    await rejected
    const second = acquire(3)
    await answer(1)
    expect(await second).toBe(true)
  })

  it('ignores the error of a count in the background, and counts again', async () => {
    const { acquire, release, answer, counts } = createPausedCapacity()
    const first = acquire(3)
    await answer(0)
    await first
    release(false)
    vi.advanceTimersByTime(1_001)
    expect(await acquire(3)).toBe(true)
    await answer(new Error('down'))
    expect([await acquire(3), counts()]).toEqual([true, 3])
  })
})
