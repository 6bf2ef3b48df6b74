import { createServer } from 'node:http'
import { type Attempt, createMockService, type Notice, type Snapshot, type SnapshotSeed } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE } from '../../helpers/deliver.ts'
import { listen } from '../../helpers/mounts.ts'
import { warningsOf } from '../../helpers/warnings.ts'
import { capture, create, JOB, NOWHERE, pathOf, post, same, seed } from '../support.ts'
import { alter, answering, CREATED, createAt, NOW, named, PLAIN, receive, statusesOf } from './support.ts'

describe('on()', () => {
  it('tells of every attempt when it has ended, and of every change of a webhook', async () => {
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

  it('a listener that throws is a warning: the others hear it, and the delivery goes on', async () => {
    const { url } = await receive(answering(500, 200))
    const { service } = createAt(named(url, { a: {} }), { settings: { notificationElapsedTimeInSeconds: 0 } })
    const told: string[] = []
    service.on(() => {
      throw new Error('a listener of mine')
    })
    service.on(({ type }) => told.push(type))
    const warnings = await warningsOf(async () => {
      expect(statusesOf(await service.trigger(CREATED))).toEqual([500, 200])
    })
    expect(told).toEqual(['attempt', 'attempt'])
    expect(warnings.filter((line) => line.includes('a listener of mine'))).toHaveLength(2)
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
  it.each(['application/json', FORM_TYPE] as const)('sends it byte for byte: %s', async (contentType) => {
    const receiver = await receive(answering(500, 500, 500, 200))
    const { service, clock } = createAt([seed(PLAIN, { hookUrl: receiver.url, contentType })])
    const triggered = service.trigger(CREATED)
    await clock.advance(60_000)
    const [first] = (await triggered) as [Attempt]
    // Whatever has become of the webhook, and of the faults.
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
    expect((await service.redeliver(again.id)).number, 'and so again').toBe(5)
  })

  it('a corrupted attempt is as corrupted as it was, on a connection that is whole', async () => {
    const { url, requests } = await receive()
    const { service } = createAt(named(url, { a: {} }))
    service.faults.add({ fault: 'truncated', times: 1 })
    const [attempt] = await service.trigger(CREATED)
    await service.redeliver(attempt?.id ?? '')
    expect(requests[1]).toEqual(requests[0])
  })

  it('several at the same time each have a number of their own', async () => {
    const { url } = await receive()
    const service = create(named(url, { a: {} }), { concurrency: 1 })
    const [attempt] = (await service.trigger(CREATED)) as [Attempt]
    const again = await Promise.all([1, 2, 3].map(() => service.redeliver(attempt.id)))
    expect(again.map(({ number }) => number)).toEqual([2, 3, 4])
  })

  it('needs an attempt that is in the record', async () => {
    const { service } = createAt([])
    await expect(service.redeliver('nothing')).rejects.toMatchObject({ code: 'config_invalid' })
  })
})

describe('snapshot() and restore()', () => {
  const full: SnapshotSeed = {
    services: [{ serviceName: 'Empty', serviceType: 'GPServer', folderName: 'City' }],
    webhooks: [seed(PLAIN), seed(JOB)],
    settings: { notificationAttempts: 2, daysInPast: 30 },
    failures: [{ webhookId: PLAIN.id, times: [NOW - 2, NOW - 1] }],
  }

  it('what one gives the other takes, in another service too', () => {
    const { service } = createAt([])
    service.restore(full)
    const snapshot = service.snapshot()
    expect(snapshot).toMatchObject({
      services: [...full.services!, { serviceName: 'Parcels' }, { serviceName: 'Buffer' }],
      webhooks: full.webhooks,
      settings: { notificationAttempts: 2, notificationTimeOutInSeconds: 10, daysInPast: 30 },
      failures: full.failures,
    })
    const other = createMockService()
    other.restore(JSON.parse(JSON.stringify(snapshot)))
    expect(other.snapshot()).toEqual(snapshot)
  })

  it('a snapshot is a copy', () => {
    const { service } = createAt([])
    service.restore(full)
    const before = service.snapshot()
    const changed = service.snapshot()
    changed.webhooks[0]!.changeTypes.push('mine')
    changed.failures[0]!.times.push(1)
    changed.settings.daysInPast = 1
    expect(service.snapshot()).toEqual(before)
    const given = service.snapshot()
    service.restore(given)
    given.failures[0]!.times.push(1)
    given.webhooks[0]!.changeTypes.push('mine')
    expect(service.snapshot()).toEqual(before)
  })

  it('failures that were restored count', async () => {
    const { url } = await receive(answering(500))
    const settings = { notificationAttempts: 1, numberOfFailures: 3 }
    const { service } = createAt([], { settings })
    service.restore({ ...full, settings, webhooks: [seed(PLAIN, { hookUrl: url })] })
    await service.trigger(CREATED)
    expect(service.snapshot().webhooks).toMatchObject([{ active: false }])
  })

  it('an empty one empties all but the settings, which have the defaults of the service', () => {
    const { service } = createAt([PLAIN], { settings: { daysInPast: 7 } })
    service.restore(full)
    service.restore({})
    expect(service.snapshot()).toMatchObject({
      services: [],
      webhooks: [],
      failures: [],
      settings: { daysInPast: 7 },
    })
  })

  it.each<[string, object]>([
    ['an unknown member', { hooks: [] }],
    ['a webhook without a name', { webhooks: [{ ...PLAIN, name: '' }] }],
    ['two of one id', { webhooks: [PLAIN, { ...PLAIN, name: 'another' }] }],
    ['two of one name', { webhooks: [PLAIN, { ...PLAIN, id: 'another' }] }],
    ['white space around a key', { webhooks: [{ ...PLAIN, signatureKey: 'key\n' }] }],
    ['a payload URL that is none', { webhooks: [{ ...PLAIN, hookUrl: 'ftp://127.0.0.1/' }] }],
    ['no attempts', { settings: { notificationAttempts: 0 } }],
    ['an unknown setting', { settings: { attempts: 3 } }],
    ['a failure before all time', { failures: [{ webhookId: 'a', times: [-1] }] }],
    ['a service in a folder in a folder', { services: [{ serviceName: 'a/b', serviceType: 'GPServer' }] }],
    ['a service of no type', { services: [{ serviceName: 'a', serviceType: 'MapServer' }] }],
  ])('refuses %s, and nothing has changed', (_, bad) => {
    const { service } = createAt([])
    service.restore(full)
    const before = service.snapshot()
    const told: Notice[] = []
    service.on((notice) => told.push(notice))
    const given = { ...service.snapshot(), services: [], ...bad } as Snapshot
    expect(() => service.restore(given)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect([service.snapshot(), told]).toEqual([before, []])
  })
})

describe('reset()', () => {
  it('is back to the beginning: seeds, settings, record, failures', async () => {
    const { url } = await receive(answering(500))
    const { service } = createAt([seed(PLAIN, { hookUrl: url })], { settings: { notificationAttempts: 1 } })
    const before = service.snapshot()
    await service.trigger(CREATED)
    service.restore({ ...service.snapshot(), settings: { daysInPast: 9 }, services: [] })
    alter(service, { name: 'renamed' })
    service.reset()
    expect(service.snapshot()).toEqual(before)
    expect(service.deliveries).toEqual([])
  })
})

describe('what a receiver does with the request', () => {
  it.each(['none of it', 'the head only'])('it answers when it has read %s of a large body', async (read) => {
    const mounted = await listen((req, res) => {
      if (read === 'none of it') res.shouldKeepAlive = false
      res.writeHead(413).end('too much')
      req.resume()
    })
    const events = Array.from({ length: 9_000 }, () => CREATED)
    const { service } = createAt([seed(PLAIN, { hookUrl: mounted.url })], {
      settings: { notificationAttempts: 1 },
    })
    const [attempt] = await service.trigger(events)
    expect(attempt?.request.body.length).toBeGreaterThan(400_000)
    expect([attempt?.answer?.status, attempt?.answer?.body]).toEqual([413, 'too much'])
    await mounted.close()
  })

  it('it closes the connection after every answer', async () => {
    const { url, requests } = await receive(
      (_n, _req, res) => void res.setHeader('connection', 'close').end(),
    )
    const { service } = createAt(named(url, { a: {} }))
    for (let count = 0; count < 5; count++) expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect(requests).toHaveLength(5)
  })

  it('it says first that it is at work', async () => {
    const { url } = await receive((_n, _req, res) => {
      res.writeProcessing()
      res.writeEarlyHints({ link: '</style.css>; rel=preload' })
      res.writeHead(202).end()
    })
    const { service } = createAt(named(url, { a: {} }))
    for (const fault of ['slow_drip', undefined] as const) {
      if (fault) service.faults.add({ fault, delay: 0, times: 1 })
      expect(statusesOf(await service.trigger(CREATED))).toEqual([202])
    }
  })

  it('its payload URL has a query: it arrives, and what is behind # does not', async () => {
    const { url, requests } = await receive()
    const { service } = createAt(named(`${url}/a%20b?c=d%26e&f#g`, { a: {} }))
    for (const fault of ['slow_drip', undefined] as const) {
      if (fault) service.faults.add({ fault, delay: 0, times: 1 })
      expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
      expect(requests.pop()?.url).toBe('/hook/a%20b?c=d%26e&f')
    }
  })

  it('it restarts: the next delivery finds it again', async () => {
    const first = await capture()
    const { service } = createAt(named(first.url, { a: {} }), { settings: { notificationAttempts: 1 } })
    await service.trigger(CREATED)
    await first.close()
    expect((await service.trigger(CREATED))[0]?.error).toBeDefined()
    const server = createServer((_req, res) => res.end()).listen(first.port, '127.0.0.1')
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    server.close()
    server.closeAllConnections()
  })

  it('an edit after the event does not reach a delivery that has begun', async () => {
    const [before, after] = await Promise.all([receive(), receive()])
    const { service } = createAt(named(before.url, { a: {} }))
    const triggered = service.trigger(CREATED)
    alter(service, { hookUrl: after.url })
    expect(await triggered).toMatchObject([{ hookUrl: before.url, answer: { status: 200 } }])
    expect(after.requests).toEqual([])
  })
})
