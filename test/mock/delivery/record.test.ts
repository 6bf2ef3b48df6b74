import type { Attempt, Notice } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE } from '../../helpers/deliver.ts'
import { warningsOf } from '../../helpers/warnings.ts'
import { call } from '../control/support.ts'
import { create, NOWHERE, pathOf, post, same, seed } from '../support.ts'
import { alter, answering, CREATED, createAt, NOW, named, PLAIN, receive, statusesOf } from './support.ts'

describe('on()', () => {
  it('emits every ended attempt and every change of a webhook', async () => {
    const receiver = await receive(answering(500, 200))
    const { service } = createAt([seed(PLAIN, { hookUrl: receiver.url })], {
      settings: { notificationElapsedTimeInSeconds: 0 },
    })
    await service.listen()
    const told: Notice[] = []
    const off = service.on((notice) => told.push(structuredClone(notice)))
    const attempts = await service.trigger(CREATED)
    expect(told).toEqual(attempts.map((attempt) => ({ type: 'attempt', attempt })))
    told.length = 0
    await post(service, `${pathOf(PLAIN)}/edit`, { ...same(PLAIN), name: 'renamed' })
    await post(service, `${pathOf(PLAIN)}/delete`, {})
    const webhook = {
      type: 'webhook',
      webhookId: PLAIN.id,
      name: 'renamed',
      service: 'Parcels.FeatureServer',
    }
    expect(told).toEqual([
      { ...webhook, change: 'edited' },
      { ...webhook, change: 'deleted' },
    ])
    told.length = 0
    service.restore({})
    service.reset()
    expect(told).toEqual([{ type: 'restored' }, { type: 'restored' }])
    off()
    off()
    service.reset()
    expect(told).toHaveLength(2)
  })

  it.each([Object.create(null), { toString: null }, new Proxy(new Error(), { get: () => null }), undefined])(
    'warns if a listener throws a value without a string conversion',
    async (thrown) => {
      const { url } = await receive()
      const { service } = createAt(named(url, { a: {} }))
      service.on(() => {
        throw thrown
      })
      const warnings = await warningsOf(async () => {
        expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
      })
      expect(warnings).toHaveLength(1)
    },
  )

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('a listener of mine')
      },
    ],
    ['rejects', () => Promise.reject(new Error('a listener of mine'))],
  ])(
    'warns if a listener %s: other listeners are called, and the delivery continues',
    async (_, listener) => {
      const { url } = await receive(answering(500, 200))
      const { service } = createAt(named(url, { a: {} }), {
        settings: { notificationElapsedTimeInSeconds: 0 },
      })
      const told: string[] = []
      service.on(listener as () => void)
      service.on(({ type }) => told.push(type))
      const warnings = await warningsOf(async () => {
        expect(statusesOf(await service.trigger(CREATED))).toEqual([500, 200])
      })
      expect(told).toEqual(['attempt', 'attempt'])
      expect(warnings.filter((line) => line.includes('a listener of mine'))).toHaveLength(2)
    },
  )

  it('escapes control characters in the error of a listener', async () => {
    const { url } = await receive()
    const { service } = createAt(named(url, { a: {} }))
    service.on(() => {
      throw new Error('a\u202eb\u2028c\u001b[2J')
    })
    const [line] = await warningsOf(() => service.trigger(CREATED))
    expect(line).toContain('Error: a%E2%80%AEb%E2%80%A8c%1B[2J')
  })

  it('a listener may trigger the next event', async () => {
    const { url, requests } = await receive()
    const { service } = createAt(named(url, { a: {} }))
    const next: Promise<unknown>[] = []
    const off = service.on(() => {
      off()
      next.push(service.trigger({ ...CREATED, changeType: 'FeaturesDeleted' }))
    })
    await service.trigger(CREATED)
    await Promise.all(next)
    expect(requests).toHaveLength(2)
  })
})

describe('redeliver()', () => {
  it.each(['application/json', FORM_TYPE] as const)('resends it byte for byte: %s', async (contentType) => {
    const receiver = await receive(answering(500, 500, 500, 200))
    const { service, clock } = createAt([seed(PLAIN, { hookUrl: receiver.url, contentType })])
    const triggered = service.trigger(CREATED)
    await clock.advance(60_000)
    const [first] = (await triggered) as [Attempt]
    // Later faults and changes to the webhook must not affect the redelivery.
    service.faults.add({ fault: 'altered' })
    alter(service, { hookUrl: NOWHERE, signatureKey: 'other', active: false })
    const again = await service.redeliver(first.id)
    expect(again).toMatchObject({
      number: 4,
      deliveryId: first.deliveryId,
      webhookId: first.webhookId,
      hookUrl: receiver.url,
      sentAt: NOW + 60_000,
      answer: { status: 200 },
    })
    expect(again.id).not.toBe(first.id)
    expect(again).not.toHaveProperty('fault')
    expect(receiver.requests).toHaveLength(4)
    expect(receiver.requests[3]).toEqual(receiver.requests[0])
    expect(service.deliveries.at(-1)).toBe(again)
    expect((await service.redeliver(again.id)).number, 'again').toBe(5)
  })

  it('sends a corrupted attempt with the same bytes, but without its connection fault', async () => {
    const { url, requests } = await receive()
    const { service } = createAt(named(url, { a: {} }))
    service.faults.add({ fault: 'truncated', times: 1 })
    const [attempt] = await service.trigger(CREATED)
    await service.redeliver(attempt?.id ?? '')
    expect(requests[1]).toEqual(requests[0])
  })

  it('concurrent calls get different attempt numbers', async () => {
    const { url } = await receive()
    const service = create(named(url, { a: {} }), { concurrency: 1 })
    const [attempt] = (await service.trigger(CREATED)) as [Attempt]
    const again = await Promise.all([1, 2, 3].map(() => service.redeliver(attempt.id)))
    expect(again.map(({ number }) => number)).toEqual([2, 3, 4])
  })

  it('is not the first attempt if the log was cleared while it waited', async () => {
    const { url } = await receive()
    const service = create(named(url, { a: {} }), { concurrency: 1 })
    const [attempt] = (await service.trigger(CREATED)) as [Attempt]
    const again = [1, 2].map(() => service.redeliver(attempt.id))
    service.reset()
    expect((await again[1])?.number).toBe(2)
  })

  it('rejects an attempt that is not in the log', async () => {
    const { service } = createAt([])
    await expect(service.redeliver('nothing')).rejects.toMatchObject({ code: 'config_invalid' })
  })
})

it('a response and its duration are recorded together', async () => {
  const receiver = await receive()
  const service = create([seed(PLAIN, { hookUrl: receiver.url })])
  let isDone = false
  const done = Promise.all(Array.from({ length: 20 }, () => service.trigger(CREATED))).finally(() => {
    isDone = true
  })
  let looks = 0
  for (; !isDone; looks++) {
    for (const { answer, milliseconds } of service.deliveries)
      expect(milliseconds !== undefined).toBe(answer !== undefined)
    await new Promise(setImmediate)
  }
  await done
  expect(looks).toBeGreaterThan(1)
  expect(service.deliveries.map(({ answer }) => answer?.status)).toEqual(Array(20).fill(200))
})

/** A payload URL whose host is not allowed. */
const REFUSED = 'http://10.0.0.1/'

describe('the attempt log', () => {
  it('keeps the last thousand attempts, oldest first', async () => {
    const service = create([seed(PLAIN, { hookUrl: REFUSED })])
    await service.listen()
    const whens = (attempts: readonly Attempt[]): number[] =>
      attempts.map(({ request }) => JSON.parse(Buffer.from(request.body).toString()).events[0].when)
    const lastThousand = (last: number): number[] =>
      Array.from({ length: 1000 }, (_, index) => last - 999 + index)
    for (let when = 0; when < 2502; when++) await service.trigger({ ...CREATED, when })
    expect(whens(service.deliveries)).toEqual(lastThousand(2501))
    const third = service.deliveries[2] as Attempt
    const { body } = await call(service, 'GET', `/deliveries?limit=1000&after=${third.id}`)
    const ids = service.deliveries.map(({ id }) => id)
    expect(body).toEqual({
      deliveries: ids.slice(3).map((id) => expect.objectContaining({ id })),
      next: null,
    })
    service.reset()
    expect(service.deliveries).toEqual([])
    for (let when = 0; when < 1001; when++) await service.trigger({ ...CREATED, when })
    expect(whens(service.deliveries)).toEqual(lastThousand(1000))
  })

  it('is not affected by changes of the returned list', async () => {
    const service = create([seed(PLAIN, { hookUrl: REFUSED })])
    const [attempt] = await service.trigger(CREATED)
    const before = service.deliveries as Attempt[]
    before.length = 0
    await service.trigger(CREATED)
    expect(before).toEqual([])
    expect(service.deliveries.map(({ id }) => id)).toEqual([attempt?.id, expect.any(String)])
  })
})
