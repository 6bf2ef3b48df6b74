import type { MockService } from 'geohook/mock'
import { expect, it } from 'vitest'
import { FEATURE, NOWHERE, pathOf, post, same, seed, start } from '../support.ts'

const LIST = '/services/Parcels.FeatureServer/webhooks'
const ROUNDS = 60

const startWith = (count: number): Promise<MockService> =>
  start(Array.from({ length: count }, (_, i) => seed(FEATURE, { id: `w${i}`, name: `w${i}` })))

/** Creates, reads, edits and deletes one webhook. Returns the total time in milliseconds. */
async function round(service: MockService, name: string): Promise<number> {
  const begin = performance.now()
  const { body } = await post(service, `${LIST}/create`, { name, hookUrl: NOWHERE })
  const webhook = seed(FEATURE, { id: String(body.id), name })
  await post(service, pathOf(webhook), {})
  await post(service, `${pathOf(webhook)}/edit`, { ...same(webhook), name: `${name} again` })
  const { text } = await post(service, `${pathOf(webhook)}/delete`, {})
  expect(text).toBe('{"status":"success"}')
  return performance.now() - begin
}

const median = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1] as number

// If each request iterated over all webhooks, the operations would be at least three times as slow.
it('operations on one webhook take as long with 100,000 webhooks as with 10', async () => {
  const [few, many] = [await startWith(10), await startWith(100_000)]
  const times: { few: number[]; many: number[] } = { few: [], many: [] }
  for (let i = 0; i < ROUNDS; i++) {
    times.few.push(await round(few, `new ${i}`))
    times.many.push(await round(many, `new ${i}`))
  }
  expect(median(times.many) / median(times.few)).toBeLessThan(2)
})
