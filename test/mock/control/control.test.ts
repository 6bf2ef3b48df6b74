import { createManualClock, createMockService, type MockService } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { capture, FEATURE, JOB, seed, start } from '../support.ts'
import { call } from './support.ts'

const CREATED = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }

/** Starts a service with one webhook, and a receiver at the webhook's payload URL. */
async function startWithReceiver(
  changes: Parameters<typeof seed>[1] = {},
  options: Parameters<typeof start>[1] = {},
) {
  const receiver = await capture()
  const service = await start([seed(FEATURE, { hookUrl: receiver.url, ...changes })], options)
  return { receiver, service }
}

describe('trigger', () => {
  it('sends deliveries, and returns the attempts after the last one', async () => {
    const { receiver, service } = await startWithReceiver()
    const { status, body } = await call(service, 'POST', '/trigger', CREATED)
    expect(status).toBe(200)
    expect(body.deliveries).toEqual([
      expect.objectContaining({
        webhookId: FEATURE.id,
        number: 1,
        answer: expect.objectContaining({ status: 200, body: 'taken' }),
        request: expect.objectContaining({ body: receiver.requests[0]?.body.toString('base64') }),
      }),
    ])
  })

  it('sends the events of one request in one delivery', async () => {
    const { receiver, service } = await startWithReceiver()
    const events = [CREATED, { ...CREATED, changeType: 'FeaturesUpdated' }]
    await call(service, 'POST', '/trigger', { events })
    expect(receiver.requests).toHaveLength(1)
    const payload = JSON.parse(String(receiver.requests[0]?.body))
    expect(payload.events.map((event: { eventType: string }) => event.eventType)).toEqual([
      'FeaturesCreated',
      'FeaturesUpdated',
    ])
  })

  it('does not wait for deliveries if wait is false', async () => {
    let release = (): void => {}
    const receiver = await capture((_req, res) => {
      release = () => res.end()
    })
    const service = await start([seed(FEATURE, { hookUrl: receiver.url })])
    const ended = new Promise((resolve) => service.on(resolve))
    const { status, body } = await call(service, 'POST', '/trigger', { ...CREATED, wait: false })
    expect([status, body]).toEqual([202, { deliveries: [] }])
    // The attempt has not ended. (The mock ends it after 10 s.)
    expect(service.deliveries.filter((attempt) => 'milliseconds' in attempt)).toEqual([])
    while (receiver.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    release()
    expect(await ended).toMatchObject({ type: 'attempt', attempt: { answer: { status: 200 } } })
  })

  it.each<[string, unknown, RegExp]>([
    ['no service of the name', { ...CREATED, serviceName: 'Nothing' }, /no service Nothing/],
    ['no change type', { serviceName: 'Parcels' }, /body\.changeType/],
    ['an unknown member', { ...CREATED, changeTypes: ['x'] }, /[Uu]nrecognized key/],
    ['an invalid time', { ...CREATED, when: 'now' }, /body\.when/],
    ['the wildcard', { ...CREATED, changeType: '*' }, /subscriptions/],
    ['no event', { events: [] }, /body\.events/],
    ['a list', [CREATED], /body/],
    ['the end of a job on a feature service', { ...CREATED, changeType: 'esriJobFailed' }, /feature service/],
    ['invalid layers', { ...CREATED, layerIds: [-1] }, /layerIds/],
  ])('%s is refused, and nothing is sent', async (_, body, message) => {
    const { receiver, service } = await startWithReceiver()
    for (const wait of [true, false]) {
      const given = Array.isArray(body) ? body : { ...(body as object), wait }
      const answer = await call(service, 'POST', '/trigger', given)
      expect([answer.status, answer.body.status, answer.body.code]).toEqual([400, 'error', 400])
      expect(answer.body.messages[0]).toMatch(message)
    }
    expect(service.deliveries).toEqual([])
    expect(receiver.requests).toEqual([])
  })
})

describe('deliveries', () => {
  async function withDeliveries(count: number): Promise<MockService> {
    const { service } = await startWithReceiver()
    for (let when = 0; when < count; when++) await service.trigger({ ...CREATED, when })
    return service
  }

  it('are paged, oldest first', async () => {
    const service = await withDeliveries(5)
    const pages: string[][] = []
    let after = ''
    do {
      const { body } = await call(service, 'GET', `/deliveries?limit=2${after && `&after=${after}`}`)
      pages.push(body.deliveries.map(({ id }: { id: string }) => id))
      after = body.next
    } while (after)
    expect(pages.map(({ length }) => length)).toEqual([2, 2, 1])
    expect(pages.flat()).toEqual(service.deliveries.map(({ id }) => id))
  })

  it('can be filtered by webhook', async () => {
    const service = await withDeliveries(2)
    const of = async (id: string) => (await call(service, 'GET', `/deliveries?webhookId=${id}`)).body
    expect((await of(FEATURE.id)).deliveries).toHaveLength(2)
    expect(await of('unknown')).toEqual({ deliveries: [], next: null })
  })

  it('can be read one by one, with the exact bytes', async () => {
    const { receiver, service } = await startWithReceiver({
      contentType: 'application/x-www-form-urlencoded',
    })
    const [attempt] = await service.trigger(CREATED)
    const { body } = await call(service, 'GET', `/deliveries/${attempt?.id}`)
    expect(Buffer.from(body.request.body, 'base64')).toEqual(receiver.requests[0]?.body)
    const bytes = await fetch(`${service.url}/_mock/deliveries/${attempt?.id}/body`)
    expect(bytes.headers.get('content-type')).toBe('application/octet-stream')
    expect(Buffer.from(await bytes.arrayBuffer())).toEqual(receiver.requests[0]?.body)
  })

  it('can be sent again, byte for byte, with the original signature', async () => {
    const { receiver, service } = await startWithReceiver()
    const [attempt] = await service.trigger(CREATED)
    service.restore({ webhooks: [seed(FEATURE, { signatureKey: 'another' })] })
    const { body } = await call(service, 'POST', `/deliveries/${attempt?.id}/redeliver`)
    expect(body.deliveries).toMatchObject([{ deliveryId: attempt?.deliveryId, number: 2 }])
    const [first, second] = receiver.requests
    expect([second?.body, second?.headers['x-service']]).toEqual([first?.body, first?.headers['x-service']])
  })

  it.each([
    '?limit=0',
    '?limit=1001',
    '?limit=1e2',
    '?limit=-1',
    '?limit=2&limit=3',
    '?limits=2',
    '?after=',
    '?webhookId=',
    '?__proto__=1',
  ])('refuses %s', async (query) => {
    const service = await withDeliveries(0)
    const { status, body } = await call(service, 'GET', `/deliveries${query}`)
    expect([status, body.status]).toEqual([400, 'error'])
  })

  it.each([
    ['GET', '/deliveries?after=unknown'],
    ['GET', '/deliveries/unknown'],
    ['GET', '/deliveries/unknown/body'],
    ['POST', '/deliveries/unknown/redeliver'],
    ['DELETE', '/faults/unknown'],
    ['GET', '/nothing'],
    ['GET', '/deliveries/'],
    ['GET', '/Deliveries'],
  ])('%s %s returns 404', async (method, path) => {
    const service = await withDeliveries(1)
    const { status, body } = await call(service, method, path)
    expect([status, body.code, body.messages.length]).toEqual([404, 404, 1])
  })
})

describe('faults and settings', () => {
  it('a fault can be added, listed, used up and removed', async () => {
    const { receiver, service } = await startWithReceiver()
    const { body: fault } = await call(service, 'POST', '/faults', { fault: 'unsigned', times: 1 })
    expect(fault).toEqual({ id: expect.any(String), fault: 'unsigned', times: 1 })
    expect((await call(service, 'GET', '/faults')).body).toEqual({ faults: [fault] })
    await service.trigger(CREATED)
    expect((await call(service, 'GET', '/faults')).body).toEqual({ faults: [] })
    const { body: other } = await call(service, 'POST', '/faults', { fault: 'gzip' })
    expect((await call(service, 'DELETE', `/faults/${other.id}`)).body).toEqual({ status: 'success' })
    await call(service, 'POST', '/faults', { fault: 'gzip' })
    expect((await call(service, 'DELETE', '/faults')).body).toEqual({ status: 'success' })
    await service.trigger(CREATED)
    expect(receiver.requests.map(({ headers }) => [headers['x-service'] !== undefined])).toEqual([
      [false],
      [true],
    ])
    expect(receiver.requests.some(({ headers }) => 'content-encoding' in headers)).toBe(false)
  })

  it.each<[string, unknown]>([
    ['/faults', {}],
    ['/faults', { fault: 'nothing' }],
    ['/faults', { fault: 'gzip', times: 0 }],
    ['/faults', { fault: 'gzip', delay: '1' }],
    ['/faults', { fault: 'constructor' }],
    ['/settings', { notificationAttempts: 6 }],
    ['/settings', { notificationAttempts: 1.5 }],
    ['/settings', { notificationAttempts: '1' }],
    ['/settings', { attempts: 1 }],
    ['/restore', { webhooks: [{}] }],
    ['/restore', { webhooks: [seed(FEATURE), seed(FEATURE)] }],
    ['/restore', { webhooks: [seed(FEATURE, { hookUrl: 'javascript:alert(1)' })] }],
    ['/restore', { webhooks: [seed(FEATURE, { signatureKey: ' k' })] }],
    ['/restore', { services: [{ serviceName: 'a/b', serviceType: 'GPServer' }] }],
    ['/restore', { services: [{ serviceName: 'a', serviceType: 'MapServer' }] }],
    ['/restore', { settings: { daysInPast: 0 } }],
    ['/restore', { failures: [{ webhookId: 1, times: [] }] }],
    ['/restore', { anything: 1 }],
  ])('%s refuses %j, and changes nothing', async (path, body) => {
    const { service } = await startWithReceiver()
    const before = service.snapshot()
    const answer = await call(service, 'POST', path, body)
    expect([answer.status, answer.body.status]).toEqual([400, 'error'])
    expect(answer.body.messages.join()).not.toContain(KEY)
    expect(service.snapshot()).toEqual(before)
    expect(service.faults.list()).toEqual([])
  })

  it('settings can be read and changed individually', async () => {
    const { service } = await startWithReceiver()
    const { body: before } = await call(service, 'GET', '/settings')
    const { body: after } = await call(service, 'POST', '/settings', { notificationAttempts: 2 })
    expect(after).toEqual({ ...before, notificationAttempts: 2 })
    expect(service.settings).toEqual(after)
  })
})

describe('snapshot, restore and reset', () => {
  it('a snapshot can be restored into another service', async () => {
    const one = await start([seed(FEATURE), seed(JOB)])
    const other = await start([])
    const { body: snapshot } = await call(one, 'GET', '/snapshot')
    expect(snapshot).toEqual(one.snapshot())
    expect((await call(other, 'POST', '/restore', snapshot)).body).toEqual({ status: 'success' })
    expect(other.snapshot()).toEqual(one.snapshot())
  })

  it('reset restores the seeds, and drops the attempt log and faults', async () => {
    const { service } = await startWithReceiver()
    const before = service.snapshot()
    await service.trigger(CREATED)
    service.faults.add({ fault: 'gzip' })
    service.restore({})
    expect(service.snapshot().webhooks).toEqual([])
    await call(service, 'POST', '/reset')
    expect(service.snapshot()).toEqual(before)
    expect([service.deliveries, service.faults.list()]).toEqual([[], []])
  })

  it('responses to changes wait for save', async () => {
    const saved: string[] = []
    const save = async ({ webhooks }: { webhooks: { name: string }[] }) => {
      await new Promise((resolve) => setTimeout(resolve, 50)) // a response that does not wait would be sooner
      saved.push(webhooks.map(({ name }) => name).join())
    }
    const { service } = await startWithReceiver({}, { save })
    await call(service, 'POST', '/restore', {})
    expect(saved).toEqual([''])
    await call(service, 'POST', '/reset')
    expect(saved).toEqual(['', FEATURE.name])
    await call(service, 'POST', '/settings', { daysInPast: 7 })
    expect(saved).toEqual(['', FEATURE.name, FEATURE.name])
  })
})

describe('requests', () => {
  const post = (service: MockService, headers: Record<string, string>, body: string | Uint8Array) =>
    fetch(`${service.url}/_mock/trigger`, { method: 'POST', headers, body: body as BodyInit })

  it.each<[string, number, string, string | Uint8Array]>([
    ['a form', 415, 'application/x-www-form-urlencoded', 'serviceName=Parcels'],
    ['plain text', 415, 'text/plain', JSON.stringify(CREATED)],
    ['no JSON', 400, 'application/json', '{'],
    ['a text', 400, 'application/json', '"x"'],
    ['no UTF-8', 400, 'application/json', Uint8Array.of(0x7b, 0xff, 0x7d)],
    ['a prototype', 400, 'application/json', '{"__proto__":{"serviceName":"Parcels"}}'],
    ['nothing', 400, 'application/json', ''],
    ['JSON that is nested too deep', 400, 'application/json', '['.repeat(100) + ']'.repeat(100)],
  ])('refuses %s with %i', async (_, status, type, body) => {
    const { service } = await startWithReceiver()
    const response = await post(service, { 'content-type': type }, body)
    expect([response.status, (await response.json()).code]).toEqual([status, status])
    expect(service.deliveries).toEqual([])
  })

  it('returns 405 with the allowed methods for another method', async () => {
    const { service } = await startWithReceiver()
    const { status, headers, body } = await call(service, 'PUT', '/faults')
    expect([status, headers.get('allow'), body.code]).toEqual([405, 'GET, HEAD, POST, DELETE', 405])
  })

  it('pages of other origins cannot use the control API', async () => {
    const { service } = await startWithReceiver()
    const response = await post(
      service,
      { 'content-type': 'application/json', origin: 'https://evil.example' },
      JSON.stringify(CREATED),
    )
    expect(response.status).toBe(403)
    expect(service.deliveries).toEqual([])
  })

  it('the control API can be disabled', async () => {
    const service = createMockService({ control: false })
    await service.listen()
    expect((await call(service, 'GET', '/snapshot')).status).toBe(404)
    await service.close()
  })
})

describe('clock', () => {
  const scheduleInfo = { recurrenceInfo: { interval: 1, frequency: 'hour' as const } }

  it('advances, closes windows, and responds with the time', async () => {
    const clock = createManualClock(1800000000000)
    const { receiver, service } = await startWithReceiver(
      { scheduleInfo: scheduleInfo as never, created: clock.now() },
      { clock, like: { window: { webhooks: 'scheduled' } } },
    )
    const delivered = service.trigger(CREATED)
    expect((await call(service, 'GET', '/clock')).body).toEqual({ now: 1800000000000 })
    const { status, body } = await call(service, 'POST', '/clock', { advance: 3_600_000 })
    expect([status, body]).toEqual([200, { now: 1800003600000 }])
    expect(receiver.requests).toHaveLength(1)
    await delivered
  })

  it('advances the clock of a mock without the option clock', async () => {
    const service = await start()
    const { body } = await call(service, 'POST', '/clock', { advance: 86_400_000 })
    expect(body.now - Date.now()).toBeGreaterThan(86_000_000)
  })

  it.each([{}, { advance: -1 }, { advance: 0.5 }, { advance: 366 * 86_400_000 + 1 }, { advance: '1h' }])(
    'refuses %j',
    async (body) => {
      expect((await call(await start(), 'POST', '/clock', body)).status).toBe(400)
    },
  )

  it('refuses a clock that cannot be advanced', async () => {
    const clock = { now: Date.now, wait: async () => {} }
    const { status, body } = await call(await start([], { clock }), 'POST', '/clock', { advance: 1 })
    expect([status, body.messages]).toEqual([400, ['the clock of this mock has no method advance']])
  })
})
