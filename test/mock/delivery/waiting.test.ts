import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { pathOf, post, seed, start } from '../support.ts'
import { CREATED, createAt, PLAIN, payloadOf, receive } from './support.ts'

/** Starts a receiver that responds only when the test calls `answer`, and a service with concurrency 1. */
async function busy(count: number) {
  const held: ServerResponse[] = []
  const receiver = await receive((_number, _req, res) => void held.push(res))
  const service = await start([seed(PLAIN, { hookUrl: receiver.url })], {
    concurrency: 1,
    settings: { notificationAttempts: 2, notificationElapsedTimeInSeconds: 0 },
  })
  const triggered = Array.from({ length: count }, (_, when) => service.trigger({ ...CREATED, when }))
  await receiver.arrived(1)
  const answer = (status: number): void => {
    for (const res of held.splice(0)) res.writeHead(status).end()
  }
  return { receiver, service, triggered, answer }
}

describe('a delivery that waits for the concurrency limit', () => {
  it.each([
    ['deleted', (path: string) => `${path}/delete`],
    ['deactivated', (path: string) => path.replace(/[^/]+$/, 'deactivateAll')],
  ])('is not sent once the webhook is %s', async (_, operation) => {
    const { receiver, service, triggered, answer } = await busy(5)
    expect((await post(service, operation(pathOf(PLAIN)), {})).body).toEqual({ status: 'success' })
    answer(500)
    expect((await Promise.all(triggered)).map(({ length }) => length)).toEqual([1, 0, 0, 0, 0])
    expect(receiver.requests).toHaveLength(1)
  })

  it('is dropped by a reset, and is not in the new attempt log', async () => {
    const { receiver, service, triggered, answer } = await busy(5)
    service.reset()
    answer(200)
    await Promise.all(triggered)
    expect(receiver.requests).toHaveLength(1)
    expect(service.deliveries).toEqual([])
  })
})

describe('a delivery that is held back', () => {
  it.each(['delayed', 'reordered'] as const)(
    '%s: is not sent after the webhook is deleted',
    async (fault) => {
      const receiver = await receive()
      const { service, clock } = createAt([seed(PLAIN, { hookUrl: receiver.url })])
      service.faults.add({ fault })
      const triggered = service.trigger(CREATED)
      service.restore({})
      await clock.advance(60_000)
      expect(await triggered).toEqual([])
      expect(receiver.requests).toEqual([])
    },
  )

  it('reordered: is released only by a later delivery, not by a retry of an earlier one', async () => {
    const receiver = await receive((number, _req, res) => res.writeHead(number === 1 ? 500 : 200).end())
    const { service, clock } = createAt([seed(PLAIN, { hookUrl: receiver.url })])
    const first = service.trigger({ ...CREATED, when: 1 })
    await receiver.arrived(1)
    service.faults.add({ fault: 'reordered', times: 1 })
    const second = service.trigger({ ...CREATED, when: 2 })
    await clock.advance(5_000) // retries the first delivery
    await first
    const third = service.trigger({ ...CREATED, when: 3 })
    await Promise.all([second, third])
    expect(receiver.requests.map((request) => payloadOf(request).events[0]?.when)).toEqual([1, 1, 3, 2])
  })
})

describe('a window', () => {
  it('contains up to 10,000 events; further events open another window', async () => {
    const receiver = await receive()
    const webhook = seed(PLAIN, { hookUrl: receiver.url })
    const { service } = createAt([webhook], { like: { window: { webhooks: 'all' } } })
    const events = Array.from({ length: 1000 }, () => CREATED)
    const triggered = Array.from({ length: 25 }, () => service.trigger(events))
    await service.close()
    await Promise.all(triggered)
    expect(receiver.requests.map((request) => payloadOf(request).events.length).sort()).toEqual([
      10000, 10000, 5000,
    ])
  })
})

describe('generations', () => {
  it('belong to the service: they are the same for every webhook, and consecutive ranges have no gap', async () => {
    const receiver = await receive()
    const named = ['a', 'b'].map((id) => seed(PLAIN, { id, name: id, hookUrl: receiver.url }))
    const { service } = createAt(named)
    await service.trigger(CREATED)
    await service.trigger({ ...CREATED, layerIds: [0, 1, 2] })
    await service.trigger(CREATED)
    const ranges = ['a', 'b'].map((id) =>
      receiver.requests
        .map((request) => payloadOf(request))
        .filter((payload) => payload.id === id)
        .map(({ changesUrl }) => /serverGens=%5B(\d+),(\d+)%5D/.exec(changesUrl)?.slice(1).map(Number)),
    )
    expect(ranges[0]).toEqual(ranges[1])
    const [[from = 0] = []] = ranges[0] as number[][]
    expect(ranges[0]).toEqual([
      [from, from + 1],
      [from + 1, from + 4],
      [from + 4, from + 5],
    ])
  })
})
