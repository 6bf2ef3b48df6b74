import { createHmac } from 'node:crypto'
import {
  createManualClock,
  createMockService,
  createTokens,
  type MockServiceOptions,
  type Product,
  type ProductOptions,
} from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { capture, FEATURE, pathOf, post, seed, start } from './support.ts'

const NOW = 1800000000000
const CREATE = '/services/Parcels.FeatureServer/webhooks/create'
const hmac = (body: Buffer, encoding: 'hex' | 'base64'): string =>
  createHmac('sha256', FEATURE.signatureKey).update(body).digest(encoding)

interface Row {
  like: Product
  /** Proof of the sender in the headers of a delivery. */
  proof(body: Buffer): Record<string, string>
  /** Members of the payload, or of its first item. */
  members: string[]
  error: object
  active: boolean
  /** Length of a default window in seconds; undefined without windows. */
  window: number | undefined
  attempts: number
}

const ERROR = { error: { code: 404, message: 'the webhook does not exist', details: [] } }

const ROWS: Row[] = [
  {
    like: 'service',
    proof: (body) => ({ 'x-service': hmac(body, 'hex') }),
    members: ['serviceType', 'changesUrl', 'name', 'id', 'folderName', 'serviceName', 'events'],
    error: { status: 'error', messages: ['the webhook does not exist'], code: 404 },
    active: true,
    window: undefined,
    attempts: 3,
  },
  {
    like: 'enterprise',
    proof: (body) => ({ 'x-esrihook-signature': `sha256=${hmac(body, 'base64')}` }),
    members: ['serviceType', 'changesUrl', 'name', 'id', 'folderName', 'serviceName', 'events'],
    error: ERROR,
    active: true,
    window: 20,
    attempts: 3,
  },
  {
    like: 'online',
    proof: (body) => ({ 'x-esrihook-signature': `sha256=${hmac(body, 'base64')}` }),
    members: ['name', 'layerId', 'orgId', 'serviceName', 'lastUpdatedTime', 'changesUrl', 'events'],
    error: ERROR,
    active: false,
    window: 30,
    attempts: 1,
  },
  {
    like: 'portal',
    proof: () => ({ secret: FEATURE.signatureKey }),
    members: ['info', 'events'],
    error: ERROR,
    active: true,
    window: undefined,
    attempts: 3,
  },
]

describe.each(ROWS)('like: $like', ({ like, proof, members, error, active, window, attempts }) => {
  /** Options that keep the test short, and that the table does not cover. */
  const ofProduct: ProductOptions = { product: like, window: undefined, handshake: false }
  const quick: MockServiceOptions = { like: ofProduct, settings: undefined }

  it('sends the payload and the proof of the product', async () => {
    const receiver = await capture()
    const webhook = seed(FEATURE, { hookUrl: receiver.url, scheduleInfo: {}, changeTypes: ['*'] })
    const service = await start([webhook], { ...quick, like: { ...ofProduct, window: false } })
    await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    const [request] = receiver.requests
    const body = request?.body as Buffer
    const payload = JSON.parse(body.toString())
    expect(Object.keys(Array.isArray(payload) ? payload[0] : payload)).toEqual(members)
    expect(request?.headers).toMatchObject(proof(body))
    const names = ['x-service', 'x-esrihook-signature', 'secret']
    const sent = names.filter((name) => request?.headers[name] !== undefined)
    expect(sent, 'exactly one proof').toEqual(Object.keys(proof(body)))
  })

  it('gathers events over the window of the product', async () => {
    const clock = createManualClock(NOW)
    const receiver = await capture()
    const webhook = seed(FEATURE, { hookUrl: receiver.url, scheduleInfo: {}, created: NOW })
    const service = await start([webhook], { ...quick, clock })
    const delivered = service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    if (window !== undefined) {
      await clock.advance(window * 1000 - 1)
      expect(receiver.requests).toHaveLength(0)
      await clock.advance(1)
    }
    await delivered
    expect(receiver.requests).toHaveLength(1)
  })

  it('creates webhooks with the defaults of the product', async () => {
    const service = await start([seed(FEATURE)], {
      ...quick,
      clock: createManualClock(NOW),
    })
    const { body } = await post(service, CREATE, { name: 'new', hookUrl: FEATURE.hookUrl })
    expect(body.active).toBe(active)
    const schedule = { interval: window, frequency: 'second' }
    expect((body.scheduleInfo as { recurrenceInfo?: object }).recurrenceInfo).toEqual(
      window === undefined ? undefined : schedule,
    )
    expect(service.settings.notificationAttempts).toBe(attempts)
  })

  it('sends errors in the format of the product', async () => {
    const service = await start([seed(FEATURE)], quick)
    const { status, body } = await post(service, `${pathOf(FEATURE)}0`, {})
    expect([status, body]).toEqual([like === 'service' ? 404 : 200, error])
  })

  it('uses options in preference to the defaults of the product', async () => {
    const receiver = await capture()
    const service = await start([seed(FEATURE, { hookUrl: receiver.url })], {
      like: {
        product: like,
        dialect: 'service',
        signature: { signatureHeader: 'x-mine', encoding: 'hex', prefix: '', signatureIn: 'header' },
        errorFormat: 'messages',
        httpStatus: 'rest',
        defaultActive: !active,
        handshake: false,
      },
    })
    await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    const [request] = receiver.requests
    expect(request?.headers['x-mine']).toBe(hmac(request?.body as Buffer, 'hex'))
    expect(await post(service, `${pathOf(FEATURE)}0`, {})).toMatchObject({
      status: 404,
      body: { status: 'error', messages: ['the webhook does not exist'], code: 404 },
    })
    const { body } = await post(service, CREATE, { name: 'new', hookUrl: FEATURE.hookUrl })
    expect(body.active).toBe(!active)
  })

  it('a client that writes back what it has read changes nothing', async () => {
    const clock = createManualClock(NOW)
    const service = await start([], {
      ...quick,
      clock,
      services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer' }],
    })
    const { body: created } = await post(service, CREATE, { name: 'new', hookUrl: FEATURE.hookUrl })
    const before = JSON.stringify(created.scheduleInfo)
    const written = Object.entries(created).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ])
    const path = `/services/Parcels.FeatureServer/webhooks/${created.id}`
    const { status } = await post(service, `${path}/edit`, [...written, ['content_type', 'application/json']])
    expect(status).toBe(200)
    const { modified, modifiedId, status: _, ...read } = (await post(service, path, {})).body
    const { modified: _1, modifiedId: _2, status: _3, ...expected } = created
    expect(read).toEqual(expected)
    expect(JSON.stringify(read.scheduleInfo)).toBe(before)
  })
})

it('lengthens windows that are shorter than those of ArcGIS Online', async () => {
  const service = await start([seed(FEATURE)], { like: { product: 'online', handshake: false } })
  const create = async (interval: number, frequency: string) => {
    const scheduleInfo = JSON.stringify({ recurrenceInfo: { interval, frequency } })
    const form = { name: `${interval} ${frequency}`, hookUrl: FEATURE.hookUrl, scheduleInfo }
    return (await post(service, CREATE, form)).body.scheduleInfo
  }
  expect(await create(20, 'second')).toMatchObject({ recurrenceInfo: { interval: 30, frequency: 'second' } })
  expect(await create(45, 'second')).toMatchObject({ recurrenceInfo: { interval: 45, frequency: 'second' } })
  expect(await create(1, 'minute')).toMatchObject({ recurrenceInfo: { interval: 1, frequency: 'minute' } })
})

it.each<[like: unknown, name: string]>([
  ['Online', ''],
  [{ product: 'Online' }, '\\.product'],
  [{ errorFormat: 'xml' }, '\\.errorFormat'],
  [{ window: { length: 500 } }, '\\.window'],
  [{ window: { minimum: 61_000 } }, '\\.window'],
  [{ window: true }, '\\.window'],
  [{ handshake: 59_999 }, '\\.handshake'],
  [{ retries: 'never' }, '\\.retries'],
  [{ defaultActive: 'no' }, '\\.defaultActive'],
  [{ keys: 'none' }, '\\.keys'],
  [{ tokenInForm: 'yes' }, '\\.tokenInForm'],
  [{ federated: 1 }, '\\.federated'],
])('refuses like: %j', (like, name) => {
  const options = { like } as MockServiceOptions
  expect(() => createMockService(options)).toThrow(new RegExp(`^options\\.like${name}[.:]`))
})

it('sends 498 and 499 with HTTP status 200 in the format error, whatever httpStatus is', async () => {
  const auth = createTokens({ users: [{ username: 'ann', password: 'secret', privileges: [] }] })
  const service = await start([seed(FEATURE)], { auth, like: { errorFormat: 'error' } })
  for (const [code, form] of [
    [499, {}],
    [498, { token: 'stale' }],
  ] as const) {
    const { status, body } = await post(service, pathOf(FEATURE), { ...form })
    expect([status, body]).toMatchObject([200, { error: { code } }])
  }
})
