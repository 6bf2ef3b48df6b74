import { describe, expect, it, vi } from 'vitest'
import { createCapacity } from '../../src/inbox/capacity.ts'

/** Milliseconds for which a count is reused, longer than a test. */
const TTL = 60_000

describe('the capacity of an inbox', () => {
  it('is counted once for many deliveries', async () => {
    const limits: number[] = []
    const capacity = createCapacity(async (limit) => limits.push(limit) * 0 + 7, TTL)
    const acquired = await Promise.all([1, 2, 3, 4].map(() => capacity.acquire(10)))
    expect(acquired).toEqual([true, true, true, false])
    expect(limits).toEqual([10])
  })

  it('grows by a place that was not used, and shrinks by one that was', async () => {
    const capacity = createCapacity(async () => 0, TTL)
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

  it('is counted again after its time, and soon if the inbox is full', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      let pending = 0
      let counts = 0
      const capacity = createCapacity(async () => {
        counts++
        return pending
      }, TTL)
      await capacity.acquire(2)
      capacity.release(true)
      vi.advanceTimersByTime(TTL)
      await capacity.acquire(2)
      expect(counts).toBe(1)
      capacity.release(false)
      vi.advanceTimersByTime(1)
      pending = 2
      expect(await capacity.acquire(2)).toBe(false)
      expect(counts).toBe(2)
      pending = 1
      vi.advanceTimersByTime(100)
      expect(await capacity.acquire(2)).toBe(false)
      vi.advanceTimersByTime(1)
      expect(await capacity.acquire(2)).toBe(true)
      expect(counts).toBe(3)
    } finally {
      vi.useRealTimers()
    }
  })

  it('includes the deliveries that were added during a count', async () => {
    let answer = (_: number) => {}
    let counts = 0
    const capacity = createCapacity(async () => {
      if (++counts === 1) return 0
      return new Promise((resolve) => {
        answer = resolve
      })
    }, -1)
    expect(await capacity.acquire(3)).toBe(true)
    const second = capacity.acquire(3)
    capacity.release(true)
    answer(0) // the count began before the delivery was stored
    expect(await second).toBe(true)
    const third = capacity.acquire(2)
    answer(1)
    expect(await third).toBe(false)
  })

  it('is counted again after an error', async () => {
    let isDown = true
    const capacity = createCapacity(async () => {
      if (isDown) throw new Error('down')
      return 1
    }, TTL)
    await expect(capacity.acquire(2)).rejects.toThrow('down')
    isDown = false
    expect([await capacity.acquire(2), await capacity.acquire(2)]).toEqual([true, false])
  })
})
