import { spawnSync } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { createRunningClock } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { createGate } from '../../helpers/gate.ts'
import { create, FEATURE, seed } from '../support.ts'
import { answering, CREATED, receive } from './support.ts'

describe('a running clock', () => {
  it('shows the real time, and the sum of its advances', async () => {
    const clock = createRunningClock()
    const before = Date.now()
    expect(clock.now()).toBeGreaterThanOrEqual(before)
    await Promise.all([clock.advance(3_600_000), clock.advance(0), clock.advance(1_000)])
    expect(clock.now() - 3_601_000).toBeGreaterThanOrEqual(before)
    expect(clock.now() - 3_601_000).toBeLessThanOrEqual(Date.now())
  })

  it('keeps the process alive while it advances past an attempt in flight', () => {
    const program = `import { createRunningClock } from 'geohook/mock'
      const clock = createRunningClock()
      clock.during(new Promise(() => {}))
      await clock.advance(1000)
      console.log('advanced')`
    const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program])
    expect({ stdout: String(stdout), status }).toEqual({ stdout: 'advanced\n', status: 0 })
  })

  it('ends a wait by itself, without an advance', async () => {
    const clock = createRunningClock()
    const due = clock.now() + 20
    await clock.wait(20)
    expect(clock.now()).toBeGreaterThanOrEqual(due)
  })

  it('advances from one waiting task to the next, including tasks that start waiting in the meantime', async () => {
    const clock = createRunningClock()
    const seen: string[] = []
    const task = async (name: string, ...waits: number[]): Promise<void> => {
      for (const wait of waits) {
        await clock.wait(wait)
        seen.push(name)
      }
    }
    const tasks = [task('a', 3e6, 3e6), task('b', 1e6, 1e6), task('c', 7e6)]
    await clock.advance(8e6)
    await Promise.all(tasks)
    expect(seen).toEqual(['b', 'b', 'a', 'a', 'c'])
  })

  it('keeps waits that end after the advance, and shortens them', async () => {
    const clock = createRunningClock()
    let isOver = false
    const wait = clock.wait(3_600_000).then(() => {
      isOver = true
    })
    await clock.advance(3_597_000)
    expect(isOver).toBe(false)
    await wait // the last seconds pass in real time
    await expect(clock.wait(10, AbortSignal.abort('early'))).rejects.toBe('early')
    const stop = new AbortController()
    const aborted = clock.wait(3_600_000, stop.signal)
    stop.abort('late')
    await expect(aborted).rejects.toBe('late')
    await clock.wait(0)
  })

  it('ends an advance although attempts never cease', async () => {
    const clock = createRunningClock()
    let isOver = false
    const traffic = (async () => {
      while (!isOver) {
        const attempt = pause(60)
        clock.during?.(attempt)
        await pause(30)
      }
    })()
    await clock.advance(1_000)
    isOver = true
    await traffic
  })

  it('keeps a century in which it can run on', async () => {
    const clock = createRunningClock()
    const remaining = 8.64e15 - clock.now()
    await expect(clock.advance(remaining - 1_000)).rejects.toMatchObject({ code: 'config_invalid' })
    await clock.advance(1_000)
  })

  it.each([-1, 0.5, Number.NaN, 1e16])('refuses to advance by %d', async (milliseconds) => {
    const clock = createRunningClock()
    await expect(clock.advance(milliseconds)).rejects.toMatchObject({ code: 'config_invalid' })
    expect(clock.now()).toBeLessThanOrEqual(Date.now())
    await clock.advance(1)
  })

  it('sends the events of windows and makes retries within an advance', async () => {
    const { url, requests } = await receive(answering(500))
    const clock = createRunningClock()
    const service = create([seed(FEATURE, { hookUrl: url })], {
      clock,
      like: { window: { webhooks: 'all' } },
      settings: { notificationAttempts: 3, notificationElapsedTimeInSeconds: 600 },
    })
    let hasEnded = false
    const attempts = service.trigger(CREATED).finally(() => {
      hasEnded = true
    })
    // An advance waits at most 250 ms for an attempt (PATIENCE in running.ts), so a busy machine may need another one.
    const isSlow = ({ milliseconds = Number.POSITIVE_INFINITY }) => milliseconds >= 200
    do await clock.advance(3_600_000)
    while (!hasEnded && service.deliveries.some(isSlow))
    expect((await attempts).map(({ number }) => number)).toEqual([1, 2, 3])
    expect(requests).toHaveLength(3)
  })

  it('does not stop while an attempt hangs, and an advance waits for it only a moment', async () => {
    const { gate, release } = createGate()
    const { url } = await receive((_number, _req, res) => void gate.then(() => res.end()))
    const clock = createRunningClock()
    const service = create([seed(FEATURE, { hookUrl: url })], { clock })
    const attempts = service.trigger(CREATED)
    await clock.advance(3_600_000)
    const later = clock.wait(5)
    await later
    expect(service.deliveries).toMatchObject([{ number: 1 }])
    expect(service.deliveries[0]?.milliseconds).toBeUndefined()
    release()
    expect((await attempts)[0]?.answer?.status).toBe(200)
  })
})
