import fc from 'fast-check'
import { expect, it } from 'vitest'
import { pathOf, post, same } from '../support.ts'
import { handshaker, rightAnswer, toHook } from './handshake-support.ts'
import { CREATED, createAt, payloadOf } from './support.ts'

const MINUTE = 60_000

/** What a test does, in any order. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 3 }).map((events) => ({ trigger: events })) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 25 }).map((minutes) => ({ advance: minutes })) },
  { weight: 2, arbitrary: fc.constantFrom(200, 405, 500).map((answer) => ({ answer })) },
  { weight: 1, arbitrary: fc.boolean().map((active) => ({ active })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }).map((key) => ({ key: `key ${key}` })) },
  { weight: 1, arbitrary: fc.constant({ restart: true }) },
)

it('a receiver gets deliveries only after a good answer, and every event is sent or counted', async () => {
  const state = { answer: 200, key: 'key 1', isGood: false }
  const { url, requests } = await handshaker(({ url }, res) => {
    state.isGood = state.answer === 200
    res.writeHead(state.answer).end(rightAnswer(url, state.key))
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
      Object.assign(state, { answer: 200, key: 'key 1', isGood: false })
      requests.length = 0
      const webhook = toHook(url, { signatureKey: state.key })
      const { service, clock } = createAt([webhook], { like: { handshake: 10 * MINUTE } })
      let [triggered, notSent, delivered] = [0, 0, 0]
      service.on((notice) => {
        if (notice.type === 'not_sent') notSent += notice.events
      })
      try {
        await service.listen()
        for (const one of steps) {
          if ('trigger' in one) {
            const isActive = service.snapshot().webhooks[0]?.active
            const before = service.deliveries.length
            await service.trigger(Array.from({ length: one.trigger }, () => CREATED))
            const attempts = service.deliveries.slice(before)
            if (isActive) triggered += one.trigger
            expect(attempts.length === 0 || state.isGood).toBe(true)
            delivered += attempts.reduce((sum, { request }) => sum + payloadOf(request).events.length, 0)
          } else if ('advance' in one) await clock.advance(one.advance * MINUTE)
          else if ('answer' in one) state.answer = one.answer
          else if ('restart' in one) service.restore(JSON.parse(JSON.stringify(service.snapshot())))
          else {
            const changes: Record<string, string> = {}
            if ('key' in one) changes.signatureKey = state.key = one.key
            else changes.active = String(one.active)
            await post(service, `${pathOf(webhook)}/edit`, { ...same(webhook), ...changes, f: 'json' })
          }
        }
        expect(delivered + notSent).toBe(triggered)
      } finally {
        await service.close()
      }
    }),
    { numRuns: 60, verbose: 1 },
  )
}, 240_000)
