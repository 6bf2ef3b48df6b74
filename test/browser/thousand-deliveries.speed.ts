import { expect, it } from 'vitest'
import { createFake } from './helpers/fake-source.ts'
import { serveInspector } from './helpers/serve-inspector.ts'
import { untilLive, visit } from './helpers/visit.ts'

const ROUNDS = 3
/** Milliseconds. A longer task would be felt as a stutter. */
const GOAL = 100
/** Fails above this multiple of the goal: a busy machine misses the goal, but not by that much. */
const TOLERANCE = 4
const UPDATES = 200

it('1,000 deliveries are scrolled and updated without long tasks', async () => {
  const fake = createFake({ count: 1_000 })
  const { url } = await serveInspector(fake)
  const page = await visit(url)
  await untilLive(page)
  expect(await page.locator('#rows > li').count()).toBe(1_000)

  async function round(): Promise<number> {
    await page.evaluate(() => {
      const times: number[] = []
      const observer = new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) times.push(duration)
      })
      observer.observe({ type: 'longtask' })
      // Scrolls through the whole list, up and down, as long as the updates arrive.
      const list = document.getElementById('list')!
      let direction = 1
      let isEnded = false
      function scroll(): void {
        list.scrollTop += direction * 400
        if (list.scrollTop <= 0) direction = 1
        else if (list.scrollTop + list.clientHeight >= list.scrollHeight - 1) direction = -1
        if (!isEnded) requestAnimationFrame(scroll)
      }
      requestAnimationFrame(scroll)
      Object.assign(globalThis, {
        endRound() {
          isEnded = true
          for (const { duration } of observer.takeRecords()) times.push(duration)
          observer.disconnect()
          return Math.max(0, ...times)
        },
      })
    })
    let last = ''
    for (let index = 0; index < UPDATES; index += 2) {
      const item = fake.add({ outcome: { tone: 'pending', word: 'in flight' } })
      last = fake.put({ ...item, outcome: { tone: 'good', word: 'handled', status: 202 } }).id
      await new Promise((resolve) => setTimeout(resolve, 20)) // the rate of a busy service, not a wait for something
    }
    await page
      .locator(`#rows > [data-id="${last}"]`, { hasText: '202 handled' })
      .waitFor({ state: 'attached' })
    return page.evaluate(() => (globalThis as unknown as { endRound(): number }).endRound())
  }

  // The best round counts, because other processes on the machine lengthen tasks too.
  let longest = Number.POSITIVE_INFINITY
  for (let index = 0; index < ROUNDS && longest > GOAL; index++) longest = Math.min(longest, await round())
  console.log(
    `Longest task with 1,000 rows and ${UPDATES} updates: ${longest} ms (goal ${GOAL}; 0: none over 50 ms)`,
  )
  expect(await page.locator('#rows > li').count()).toBe(1_000)
  expect(longest).toBeLessThanOrEqual(TOLERANCE * GOAL)
}, 120_000)
