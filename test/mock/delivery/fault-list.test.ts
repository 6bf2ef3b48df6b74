import type { FaultName, FaultSeed } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { KEY, signatureOf } from '../../helpers/deliver.ts'
import { create } from '../support.ts'
import { answering, CREATED, createAt, NOW, named, payloadOf, receive } from './support.ts'

const REFUSED = 'http://receiver.example/hook'

/** The faults that so many events of the webhook meet. */
async function faultsOf(service: ReturnType<typeof create>, events: number): Promise<(string | undefined)[]> {
  const names: (string | undefined)[] = []
  for (let count = 0; count < events; count++) {
    for (const { fault } of await service.trigger(CREATED)) names.push(fault)
  }
  return names
}

describe('the list of faults', () => {
  it('is empty, holds what is added, and gives out copies', () => {
    const { faults } = create([])
    expect(faults.list()).toEqual([])
    const seed: FaultSeed = { fault: 'altered', webhookId: 'a', times: 2, delay: 3 }
    const added = faults.add(seed)
    expect(added).toEqual({ ...seed, id: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    Object.assign(seed, { times: 9 })
    Object.assign(added, { times: 9 })
    Object.assign(faults.list()[0]!, { times: 9 })
    expect(faults.list()).toMatchObject([{ times: 2 }])
  })

  it('a fault is for so many deliveries, then it is gone', async () => {
    const service = create(named(REFUSED, { a: {} }))
    service.faults.add({ fault: 'altered', times: 2 })
    expect(await faultsOf(service, 1)).toEqual(['altered'])
    expect(service.faults.list()).toMatchObject([{ times: 1 }])
    expect(await faultsOf(service, 2)).toEqual(['altered', undefined])
    expect(service.faults.list()).toEqual([])
  })

  it('a fault without times stays until it is removed', async () => {
    const service = create(named(REFUSED, { a: {} }))
    const { id } = service.faults.add({ fault: 'gzip' })
    expect(await faultsOf(service, 3)).toEqual(['gzip', 'gzip', 'gzip'])
    expect([service.faults.remove(id), service.faults.remove(id)]).toEqual([true, false])
    expect(await faultsOf(service, 1)).toEqual([undefined])
  })

  it('a fault for one webhook leaves the others alone', async () => {
    const service = create(named(REFUSED, { a: {}, b: {} }))
    service.faults.add({ fault: 'altered', webhookId: 'b', times: 1 })
    expect(await faultsOf(service, 2)).toEqual([undefined, 'altered', undefined, undefined])
  })

  it('the oldest that fits is taken, and only one for each delivery', async () => {
    const service = create(named(REFUSED, { a: {}, b: {} }))
    service.faults.add({ fault: 'gzip', webhookId: 'b', times: 1 })
    service.faults.add({ fault: 'altered', times: 3 })
    service.faults.add({ fault: 'unsigned', webhookId: 'a', times: 1 })
    expect(await faultsOf(service, 3)).toEqual([
      'altered',
      'gzip',
      'altered',
      'altered',
      'unsigned',
      undefined,
    ])
  })

  it('retries are of the same delivery: they take no further fault', async () => {
    const { url, requests } = await receive(answering(500, 500, 200))
    const { service, clock } = createAt(named(url, { a: {} }))
    service.faults.add({ fault: 'unsigned', times: 1 })
    service.faults.add({ fault: 'gzip', times: 1 })
    const triggered = service.trigger(CREATED)
    await clock.advance(60_000)
    expect((await triggered).map(({ fault }) => fault)).toEqual(['unsigned', 'unsigned', 'unsigned'])
    expect(requests.every(({ headers }) => !('x-service' in headers))).toBe(true)
    expect(service.faults.list()).toMatchObject([{ fault: 'gzip' }])
  })

  it('clear() and reset() empty it; restore() does not', () => {
    const service = create([])
    const { faults } = service
    faults.add({ fault: 'altered' })
    service.restore({})
    expect(faults.list()).toHaveLength(1)
    service.reset()
    expect(faults.list()).toEqual([])
    faults.add({ fault: 'altered' })
    faults.clear()
    expect(faults.list()).toEqual([])
  })

  it.each<[string, object]>([
    ['an unknown name', { fault: 'unlucky' }],
    ['a name of Object', { fault: 'constructor' }],
    ['no name', {}],
    ['no times', { fault: 'altered', times: 0 }],
    ['too many times', { fault: 'altered', times: 1_000_001 }],
    ['half a time', { fault: 'altered', times: 1.5 }],
    ['a delay before now', { fault: 'delayed', delay: -1 }],
    ['a delay of more than a day', { fault: 'delayed', delay: 86_400_001 }],
    ['an empty id', { fault: 'altered', webhookId: '' }],
    ['an id of its own', { fault: 'altered', id: 'mine' }],
    ['a misspelled member', { fault: 'altered', time: 1 }],
  ])('refuses %s', (_, seed) => {
    const { faults } = create([])
    expect(() => faults.add(seed as FaultSeed)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(faults.list()).toEqual([])
  })
})

describe('what is sent', () => {
  const sentWith = async (fault: FaultName, options: object = {}) => {
    const { url, requests } = await receive()
    const { service } = createAt(named(url, { a: {} }), options)
    service.faults.add({ fault, times: 1 })
    const [attempt] = await service.trigger(CREATED)
    expect(Buffer.from(attempt!.request.body).equals(requests[0]!.body), 'as recorded').toBe(true)
    return requests[0]!
  }

  it('altered: one bit differs', async () => {
    const { headers, body } = await sentWith('altered')
    const differing = [...body].flatMap((_, index) => {
      const repaired = Buffer.from(body)
      repaired[index]! ^= 1
      return signatureOf(repaired) === headers['x-service'] ? [index] : []
    })
    expect(differing).toHaveLength(1)
  })

  it('truncated: a whole request with half of the body', async () => {
    const { headers, body } = await sentWith('truncated')
    const whole = await sentWith('duplicate')
    expect(headers['content-length']).toBe(String(body.length))
    expect(body.length).toBe(whole.body.length >> 1)
    expect(headers['x-service']).toBe(signatureOf(whole.body))
  })

  it('wrong_key: signed, but not with the key', async () => {
    const { headers, body } = await sentWith('wrong_key')
    expect(headers['x-service']).toMatch(/^[0-9a-f]{64}$/)
    expect(headers['x-service']).not.toBe(signatureOf(body))
  })

  it('wrong_key: an organization sends another secret, and no signature', async () => {
    const { headers } = await sentWith('wrong_key', { dialect: 'organization' })
    expect(headers.secret).toMatch(/./)
    expect(headers.secret).not.toBe(KEY)
    expect(headers).not.toHaveProperty('x-service')
  })

  it('unsigned: an organization sends no secret', async () => {
    expect((await sentWith('unsigned', { dialect: 'organization' })).headers).not.toHaveProperty('secret')
  })

  it('gzip: what was signed, compressed', async () => {
    const { headers, body } = await sentWith('gzip')
    const { gunzipSync } = await import('node:zlib')
    expect(signatureOf(gunzipSync(body))).toBe(headers['x-service'])
    expect(headers['content-encoding']).toBe('gzip')
  })
})

/** The change types in the order in which they arrived. */
const orderOf = ({ requests }: { requests: { body: Buffer }[] }) =>
  requests.map((request) => payloadOf(request).events[0]?.eventType)

describe('faults of the order', () => {
  async function four(delay?: number, times?: number) {
    const receiver = await receive()
    const { service, clock } = createAt(named(receiver.url, { a: {}, b: { serviceName: 'Roads' } }))
    service.faults.add({ fault: 'reordered', webhookId: 'a', times, delay })
    const trigger = (changeType: string, serviceName = 'Parcels') =>
      service.trigger({ serviceName, changeType })
    return { receiver, service, clock, trigger }
  }

  it('reordered: it arrives after the next one of its webhook', async () => {
    const { receiver, trigger } = await four(undefined, 1)
    const first = trigger('First')
    await trigger('OfAnother', 'Roads')
    expect(orderOf(receiver)).toEqual(['OfAnother'])
    await trigger('Second')
    expect(await first).toHaveLength(1)
    await trigger('Third')
    expect(orderOf(receiver)).toEqual(['OfAnother', 'Second', 'First', 'Third'])
  })

  it('reordered, all of them: each two change places', async () => {
    const { receiver, trigger } = await four()
    const triggered: Promise<unknown>[] = []
    for (const name of ['First', 'Second', 'Third', 'Fourth']) {
      triggered.push(trigger(name))
      if (triggered.length % 2 === 0) await Promise.all(triggered)
    }
    expect(orderOf(receiver)).toEqual(['Second', 'First', 'Fourth', 'Third'])
  })

  it.each([
    ['ten seconds', undefined, 10_000],
    ['its delay', 3_000, 3_000],
  ])('reordered: where no other comes, it is sent after %s', async (_, delay, milliseconds) => {
    const { clock, receiver, trigger } = await four(delay, 1)
    const first = trigger('First')
    await clock.advance(milliseconds - 1)
    expect(receiver.requests).toHaveLength(0)
    await clock.advance(1)
    expect(await first).toMatchObject([{ sentAt: NOW + milliseconds, fault: 'reordered' }])
  })

  it.each([
    ['five seconds', undefined, 5_000],
    ['its delay', 60_000, 60_000],
    ['no time', 0, 0],
  ])('delayed: it is sent after %s', async (_, delay, milliseconds) => {
    const receiver = await receive()
    const { service, clock } = createAt(named(receiver.url, { a: {} }))
    service.faults.add({ fault: 'delayed', times: 1, delay })
    const delayed = service.trigger(CREATED)
    if (milliseconds > 0) {
      await service.trigger({ ...CREATED, changeType: 'Second' })
      await clock.advance(milliseconds - 1)
      expect(orderOf(receiver)).toEqual(['Second'])
      await clock.advance(1)
    }
    expect(await delayed).toMatchObject([{ sentAt: NOW + milliseconds, fault: 'delayed' }])
  })

  it.each(['delayed', 'reordered'] as const)(
    '%s: close() sends it at once, reset() does not',
    async (fault) => {
      for (const [end, sent] of [
        ['close', 1],
        ['reset', 0],
      ] as const) {
        const receiver = await receive()
        const { service } = createAt(named(receiver.url, { a: {} }))
        service.faults.add({ fault })
        const triggered = service.trigger(CREATED)
        await service[end]()
        expect([(await triggered).length, receiver.requests.length]).toEqual([sent, sent])
      }
    },
  )
})

describe('faults of the connection', () => {
  it.each(['slow_drip', 'wrong_length', 'connection_dropped', 'answer_lost'] as const)(
    '%s: where nobody listens, the attempts end',
    async (fault) => {
      const { service } = createAt(named('http://127.0.0.1:9/hook', { a: {} }), {
        settings: { notificationElapsedTimeInSeconds: 0 },
      })
      service.faults.add({ fault })
      const attempts = await service.trigger(CREATED)
      expect(attempts).toHaveLength(3)
      for (const { error } of attempts) expect(error).toContain('ECONNREFUSED')
    },
  )

  it.each(['slow_drip', 'wrong_length'] as const)(
    '%s: a receiver that waits for the rest is left after the time-out',
    async (fault) => {
      const receiver = await receive() // it reads to the end before it answers
      const settings = { notificationTimeOutInSeconds: 1, notificationElapsedTimeInSeconds: 0 }
      const { service } = createAt(named(receiver.url, { a: {} }), { settings })
      service.faults.add({ fault })
      const [first, second] = await service.trigger(CREATED)
      expect(first?.error).toBe('no answer within 1 s')
      expect(second?.answer?.status).toBe(200)
    },
  )

  it('slow_drip: a patient receiver gets all of it', async () => {
    const receiver = await receive()
    const { service } = createAt(named(receiver.url, { a: {} }))
    service.faults.add({ fault: 'slow_drip', delay: 0 })
    const [attempt] = await service.trigger(CREATED)
    expect(attempt?.answer?.status).toBe(200)
    expect(receiver.requests[0]?.headers['x-service']).toBe(signatureOf(receiver.requests[0]!.body))
  })
})
