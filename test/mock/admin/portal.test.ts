import { createReceiver } from 'geohook'
import { createManualClock, type MockService, type Webhook, type WebhookSeed } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { send } from '../../helpers/http.ts'
import { type Capture, capture, FEATURE, JOB, post, seed, start } from '../support.ts'
import { auth, get, tokenOf } from './support.ts'

type Json = Record<string, unknown>

const PATH = '/sharing/rest/portals/self/webhooks'
const ITEM = 'd1e9a46a0b844e46a2d9ae6b581d0c3c'
const NOW = 1800000000000

const portalSeed = (given: Partial<WebhookSeed> & { hookUrl: string }): Webhook =>
  ({ serviceType: 'Portal', serviceName: '0123456789ABCDEF', name: 'portal', id: 'p1', ...given }) as Webhook

const read = async (service: MockService, path: string): Promise<Json> =>
  JSON.parse((await get(`${service.url}${path}${path.includes('?') ? '&' : '?'}f=json`)).text)

const errorOf = ({ body }: { body: Json }): Json => body.error as Json

async function create(
  service: MockService,
  receiver: Capture,
  parameters: Record<string, string> = {},
): Promise<string> {
  const { body } = await post(service, `${PATH}/createWebhook`, {
    name: 'edits',
    url: receiver.url,
    changes: 'allChanges',
    ...parameters,
  })
  expect(body).toEqual({ success: true, id: expect.stringMatching(/^[0-9a-f]{32}$/) })
  return body.id as string
}

const bodyOf = ({ requests }: Capture, index: number): Json =>
  JSON.parse(requests[index]?.body.toString() ?? '{}')

describe('webhooks of a portal', () => {
  it('are created as the released client does, and read with the documented members', async () => {
    const receiver = await capture()
    const service = await start([], { clock: createManualClock(NOW) })
    const config = { deactivationPolicy: { numberOfFailures: 2, daysInPast: 3 } }
    const id = await create(service, receiver, { secret: 'tell', config: JSON.stringify(config) })
    const webhook = {
      id,
      accountId: '0123456789ABCDEF',
      payloadUrl: receiver.url,
      secret: 'tell',
      isActive: true,
      name: 'edits',
      config,
      ownerId: 'admin',
      created: NOW,
      modified: NOW,
      events: ['/'],
    }
    for (const portal of ['self', '0123456789ABCDEF', 'another'])
      expect(await read(service, `/sharing/rest/portals/${portal}/webhooks/${id}`)).toEqual(webhook)
    expect(await read(service, PATH)).toEqual({
      total: 1,
      start: 1,
      num: 25,
      nextStart: -1,
      webhooks: [webhook],
    })
  })

  it('are listed beside the webhooks of the services, which are listed with their items', async () => {
    const service = await start([
      portalSeed({ hookUrl: 'http://127.0.0.1:9/' }),
      seed(FEATURE),
      seed(FEATURE, { id: 'other', name: 'other', ownerId: 'kim' }),
      seed(JOB),
    ])
    const list = async (parameters: Record<string, string>) =>
      (await post(service, `${PATH}/listServiceWebhooks`, parameters)).body
    const { webhooks } = (await list({})) as { webhooks: { itemId: string }[] }
    const itemId = expect.stringMatching(/^[0-9a-f]{32}$/)
    expect(webhooks).toMatchObject([{ ...FEATURE, itemId }, { id: 'other' }, { ...JOB, itemId }])
    expect(webhooks[0]?.itemId === webhooks[1]?.itemId).toBe(true)
    for (const form of [{ userName: 'kim' }, { username: 'kim' }, { userName: 'kim', username: 'kim' }])
      expect(await list(form)).toMatchObject({ webhooks: [{ id: 'other', ownerId: 'kim' }] })
    expect(await list({ userName: 'kim', username: 'ann' })).toMatchObject({ error: { code: 400 } })
  })

  it('are not webhooks of a service', async () => {
    const receiver = await capture()
    const service = await start([portalSeed({ hookUrl: receiver.url })])
    expect(await read(service, '/services/webhooks')).toEqual({ webhooks: [] })
    expect((await get(`${service.url}/services/0123456789ABCDEF.Portal/webhooks`)).status).toBe(404)
  })

  it('survive a snapshot, and a seed names the portal', async () => {
    const receiver = await capture()
    const service = await start([portalSeed({ serviceName: 'FEDCBA', hookUrl: receiver.url })])
    const id = await create(service, receiver)
    const other = await start()
    other.restore(service.snapshot())
    expect(other.snapshot()).toEqual(service.snapshot())
    expect(await read(other, `${PATH}/${id}`)).toMatchObject({ accountId: 'FEDCBA' })
    expect(await read(other, '/sharing/rest/portals/self')).toMatchObject({ id: 'FEDCBA' })
  })

  it('of two portals are refused as seeds, and change nothing', async () => {
    const service = await start()
    const before = service.snapshot()
    const webhooks = ['A', 'B'].map((serviceName) =>
      portalSeed({ serviceName, id: serviceName, hookUrl: 'http://127.0.0.1:9/' }),
    )
    expect(() => service.restore({ webhooks })).toThrow('a mock service has one portal')
    expect(service.snapshot()).toEqual(before)
  })

  it('are listed page by page', async () => {
    const webhooks = [1, 2, 3, 4, 5].map((number) =>
      portalSeed({ id: `p${number}`, name: `n${number}`, hookUrl: 'http://127.0.0.1:9/' }),
    )
    const service = await start(webhooks)
    const ids: unknown[] = []
    for (let next = 1; next !== -1; ) {
      const page = await read(service, `${PATH}?start=${next}&num=2`)
      ids.push(...(page.webhooks as Json[]).map(({ id }) => id))
      next = page.nextStart as number
    }
    expect(ids).toEqual(['p1', 'p2', 'p3', 'p4', 'p5'])
    for (const query of ['start=0', 'num=0', 'num=101', 'num=x'])
      expect((await get(`${service.url}${PATH}?${query}&f=json`)).status).toBe(400)
  })

  it('are updated, switched off and on, and deleted', async () => {
    const receiver = await capture()
    const service = await start([portalSeed({ hookUrl: receiver.url, signatureKey: 'tell' })])
    const success = { success: true }
    for (const events of ['/items/add,/groups', '["/items/add"," /groups"]']) {
      expect((await post(service, `${PATH}/p1/update`, { name: 'newer', events })).body).toEqual(success)
      expect(await read(service, `${PATH}/p1`)).toMatchObject({
        name: 'newer',
        events: ['/items/add', '/groups'],
        secret: 'tell',
      })
    }
    expect((await post(service, `${PATH}/p1/update`, { secret: '' })).body).toEqual(success)
    expect((await read(service, `${PATH}/p1`)).secret).toBe('')
    for (const [operation, isActive] of [
      ['deactivate', false],
      ['activate', true],
    ] as const) {
      expect((await post(service, `${PATH}/p1/${operation}`, {})).body).toEqual(success)
      expect((await read(service, `${PATH}/p1`)).isActive).toBe(isActive)
    }
    expect((await post(service, `${PATH}/p1/delete`, {})).body).toEqual(success)
    expect((await read(service, PATH)).total).toBe(0)
  })

  it.each<[what: string, parameters: Record<string, string>, message: string]>([
    ['no name', { name: '' }, 'name is required'],
    ['no url', { url: '' }, 'url is required'],
    ['an invalid url', { url: 'ftp://x' }, 'url must be an http'],
    [
      'an unknown trigger',
      { changes: 'manualChanges', events: '/items,/layers/add' },
      'events holds "/layers/add"',
    ],
    [
      'a trigger that is a number',
      { events: '["/items",7]' },
      'events must be comma-separated or a JSON array',
    ],
    ['manualChanges without events', { changes: 'manualChanges' }, 'events is required'],
    ['an unknown word for changes', { changes: 'some' }, 'changes must be one of'],
    ['a config that is not JSON', { config: '{' }, 'config must be a JSON object'],
    [
      'a config out of bounds',
      { config: '{"deactivationPolicy":{"numberOfFailures":0,"daysInPast":5}}' },
      'config',
    ],
    ['a name that is taken', { name: 'portal' }, 'name is taken'],
  ])('%s: 400', async (_, parameters, message) => {
    const receiver = await capture()
    const service = await start([portalSeed({ hookUrl: receiver.url })])
    const before = service.snapshot()
    const answer = await post(service, `${PATH}/createWebhook`, {
      name: 'new',
      url: receiver.url,
      ...parameters,
    })
    expect([answer.status, errorOf(answer).code]).toEqual([400, 400])
    expect(JSON.stringify(errorOf(answer))).toContain(JSON.stringify(message).slice(1, -1))
    expect([service.snapshot(), receiver.requests]).toEqual([before, []])
  })

  it.each([
    [404, 'GET', `${PATH}/none`],
    [404, 'POST', `${PATH}/none/update`],
    [404, 'POST', `${PATH}/p1/edit`],
    [405, 'GET', `${PATH}/createWebhook`],
    [405, 'GET', `${PATH}/p1/delete`],
    [405, 'GET', `${PATH}/settings/update`],
  ])('%i: %s %s', async (status, method, path) => {
    const service = await start([portalSeed({ hookUrl: 'http://127.0.0.1:9/' })])
    expect((await send(`${service.url}${path}`, { method })).status).toBe(status)
  })

  it('need both privileges', async () => {
    const service = await start([], { auth: auth() })
    expect((await read(service, PATH)).error).toMatchObject({ code: 499 })
    for (const [user, expected] of [
      ['both', { total: 0 }],
      ['fs', { error: { code: 403 } }],
      ['gp', { error: { code: 403 } }],
    ] as const) {
      const authorization = `Bearer ${await tokenOf(service, user)}`
      const { text } = await get(`${service.url}${PATH}?f=json`, { authorization })
      expect(JSON.parse(text)).toMatchObject(expected)
    }
  })

  it.each([
    ['an object without text', '[{"toString":1,"valueOf":1}]'],
    ['deep arrays', '['.repeat(50_000) + ']'.repeat(50_000)],
  ])('refuse triggers that are %s', async (_, events) => {
    const service = await start([])
    const parameters = { name: 'n', url: 'http://127.0.0.1:9/', changes: 'manualChanges', events }
    const answer = await post(service, `${PATH}/createWebhook`, parameters)
    expect([answer.status, errorOf(answer).code]).toEqual([400, 400])
  })

  it('have plain pages that never show the secret', async () => {
    const service = await start([
      portalSeed({ hookUrl: 'http://127.0.0.1:9/', signatureKey: 'very-private' }),
    ])
    for (const path of [PATH, `${PATH}/p1`, `${PATH}/p1/notificationStatus`, `${PATH}/settings`]) {
      const { status, text } = await get(`${service.url}${path}?f=html`)
      expect([status, text.includes('very-private')]).toEqual([200, false])
    }
  })

  it('share the settings of the mock', async () => {
    const service = await start([], { settings: { notificationAttempts: 2 } })
    const body = { notificationElapsedTimeInSeconds: '30' }
    expect((await post(service, `${PATH}/settings/update`, body)).body).toEqual({ success: true })
    expect(await read(service, `${PATH}/settings`)).toEqual({
      notificationAttempts: 2,
      notificationTimeOutInSeconds: 10,
      notificationElapsedTimeInSeconds: 30,
    })
  })
})

describe('registration', () => {
  it('is posted to the URL with the secret, and recorded as an attempt', async () => {
    const receiver = await capture()
    const service = await start([], { clock: createManualClock(NOW) })
    const id = await create(service, receiver, { secret: 'tell' })
    expect(receiver.requests).toHaveLength(1)
    expect(receiver.requests[0]).toMatchObject({ method: 'POST', headers: { secret: 'tell' } })
    expect(bodyOf(receiver, 0)).toEqual({
      WebhookRegistry: {
        webhookName: 'edits',
        webhookId: id,
        portalURL: 'https://portal.example/portal/',
        when: NOW,
      },
    })
    expect(service.deliveries).toMatchObject([{ webhookId: id, answer: { status: 200 } }])
  })

  it.each([
    [500, 'it answered 500'],
    [302, 'it answered 302'],
  ])('a response with %i refuses the webhook', async (status, reason) => {
    const receiver = await capture((_req, res) => void res.writeHead(status).end())
    const service = await start([])
    const answer = await post(service, `${PATH}/createWebhook`, { name: 'new', url: receiver.url })
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).toContain(reason)
    expect([service.snapshot().webhooks, service.deliveries.length]).toEqual([[], 1])
  })

  it('to a host that is not allowed refuses the webhook', async () => {
    const service = await start([])
    const answer = await post(service, `${PATH}/createWebhook`, { name: 'new', url: 'http://192.0.2.1/hook' })
    expect([answer.status, service.snapshot().webhooks]).toEqual([400, []])
    expect(JSON.stringify(answer.body)).toContain('allowHosts')
  })

  it('is repeated for a new URL only, and a refusal keeps the old one', async () => {
    const receiver = await capture()
    const other = await capture()
    const refusing = await capture((_req, res) => void res.writeHead(401).end())
    const service = await start([portalSeed({ hookUrl: receiver.url })])
    await post(service, `${PATH}/p1/update`, { url: receiver.url, name: 'portal' })
    expect(receiver.requests).toHaveLength(0)
    expect((await post(service, `${PATH}/p1/update`, { url: refusing.url, name: 'lost' })).status).toBe(400)
    expect(await read(service, `${PATH}/p1`)).toMatchObject({ payloadUrl: receiver.url, name: 'portal' })
    await post(service, `${PATH}/p1/update`, { url: other.url })
    expect([refusing.requests.length, other.requests.length]).toEqual([1, 1])
    expect(await read(service, `${PATH}/p1`)).toMatchObject({ payloadUrl: other.url })
  })

  it('takes the place of a handshake, also when a webhook is edited or its mock is restored', async () => {
    const receiver = await capture()
    const clock = createManualClock(NOW)
    const service = await start([], { like: 'online', clock })
    const id = await create(service, receiver, { secret: 'tell' })
    await post(service, `${PATH}/${id}/update`, { secret: 'new' })
    service.restore(service.snapshot())
    await clock.advance(3_600_000)
    const [attempt] = await service.trigger({
      serviceType: 'Portal',
      serviceName: 'self',
      changeType: '/items/add',
    })
    expect(attempt?.answer?.status).toBe(200)
    expect(receiver.requests.map(({ method }) => method)).toEqual(['POST', 'POST'])
    expect(service.snapshot().handshakes).toEqual([])
  })

  it('two requests at once with one name create one webhook', async () => {
    const receiver = await capture()
    const service = await start([])
    const answers = await Promise.all(
      [1, 2].map(() => post(service, `${PATH}/createWebhook`, { name: 'same', url: receiver.url })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
    expect(service.snapshot().webhooks).toHaveLength(1)
  })
})

describe('events of a portal', () => {
  it.each([
    ['/items/add', '/', true],
    ['/items/add', '/items', true],
    ['/items/add', '/items/add', true],
    ['/items/add', '/groups', false],
    [`/items/${ITEM}/update`, `/items/${ITEM}`, true],
    [`/items/${ITEM}/update`, `/items/${ITEM}/update`, true],
    [`/items/${ITEM}/update`, `/items/${ITEM}/delete`, false],
    [`/items/${ITEM}/update`, '/items/another', false],
    [`/users/kim/disable`, '/users', true],
  ])('%s reaches a webhook of %s: %s', async (changeType, trigger, isExpected) => {
    const receiver = await capture()
    const service = await start([portalSeed({ hookUrl: receiver.url, changeTypes: [trigger] })])
    await service.trigger({ serviceType: 'Portal', serviceName: 'self', changeType })
    expect(receiver.requests).toHaveLength(isExpected ? 1 : 0)
  })

  it.each(['service', 'hosted', 'organization'] as const)(
    'are always sent in the organization dialect, also by a mock of the dialect %s',
    async (dialect) => {
      const receiver = await capture()
      const service = await start([portalSeed({ hookUrl: receiver.url, signatureKey: 'tell' })], {
        like: { dialect, window: { webhooks: 'all' }, fanOut: 'layer' },
      })
      const events = [
        { changeType: `/items/${ITEM}/share`, when: 1548282404620 },
        { changeType: '/groups/add', when: 1548282404622 },
      ]
      await service.trigger(events.map((event) => ({ serviceType: 'Portal', serviceName: 'self', ...event })))
      expect(receiver.requests).toHaveLength(1)
      const { headers } = receiver.requests[0] ?? {}
      expect([headers?.secret, headers?.['x-service'], headers?.['x-esrihook-signature']]).toEqual([
        'tell',
        undefined,
        undefined,
      ])
      expect(bodyOf(receiver, 0)).toMatchObject({
        info: { webhookId: 'p1', webhookName: 'portal', when: 1548282404622 },
        events: [
          { operation: 'share', source: 'item', id: ITEM, when: 1548282404620 },
          { operation: 'add', source: 'group', id: expect.stringMatching(/^[0-9a-f]{32}$/) },
        ],
      })
    },
  )

  it.each(['FeaturesCreated', '/items', '/items/update', '/layers/1/update', 'items/add', '/items//update'])(
    '%s is not an operation on a portal',
    async (changeType) => {
      const service = await start([portalSeed({ hookUrl: 'http://127.0.0.1:9/' })])
      await expect(
        service.trigger({ serviceType: 'Portal', serviceName: 'self', changeType }),
      ).rejects.toThrow()
    },
  )

  it('can be triggered over HTTP', async () => {
    const receiver = await capture()
    const service = await start([portalSeed({ hookUrl: receiver.url })])
    const body = JSON.stringify({ serviceType: 'Portal', serviceName: 'self', changeType: '/items/add' })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${service.url}/_mock/trigger`, { method: 'POST', headers, body })
    expect([response.status, receiver.requests.length]).toEqual([200, 1])
  })

  it('notificationStatus lists the attempts with payload and response', async () => {
    const receiver = await capture((_req, res) =>
      res.writeHead(receiver.requests.length === 1 ? 200 : 500).end('said'),
    )
    const service = await start([portalSeed({ hookUrl: receiver.url })], { clock: createManualClock(NOW) })
    for (const _ of [1, 2])
      await service.trigger({ serviceType: 'Portal', serviceName: 'self', changeType: '/items/add' })
    const answer = await post(service, `${PATH}/p1/notificationStatus`, { num: '100', start: '1' })
    expect(answer.body).toMatchObject({ total: 2, start: 1, num: 100, nextStart: -1 })
    expect(answer.body.WebhookStatus).toEqual(
      [true, false].map((isInvoked, index) => ({
        id: 'p1',
        isInvoked,
        invokedTimestamp: '2027-01-15 08:00:00.000',
        responseText: 'said',
        payload: receiver.requests[index]?.body.toString(),
      })),
    )
  })

  it('the deactivation policy of the webhook decides, and activate resets its failures', async () => {
    const receiver = await capture((_req, res) => void res.writeHead(500).end())
    const config = { deactivationPolicy: { numberOfFailures: 2, daysInPast: 1 } }
    const service = await start([portalSeed({ hookUrl: receiver.url, config })])
    const event = { serviceType: 'Portal', serviceName: 'self', changeType: '/items/add' } as const
    for (const isActive of [true, false]) {
      await service.trigger(event)
      expect((await read(service, `${PATH}/p1`)).isActive).toBe(isActive)
    }
    await post(service, `${PATH}/p1/activate`, {})
    expect(service.snapshot().failures).toEqual([])
  })

  it('reach a receiver of geohook', async () => {
    const seen: unknown[] = []
    const receiver = createReceiver({ signatureKey: 'unused', unsigned: 'accept' }).on('share', (event) => {
      seen.push([event.changeType, (event.raw as Json).id])
    })
    const server = await capture(async (_req, res) => {
      const { headers, body } = server.requests.at(-1) as Capture['requests'][number]
      const answer = await receiver.fetch(
        new Request(server.url, {
          method: 'POST',
          headers: { 'content-type': String(headers['content-type']) },
          body: new Uint8Array(body),
        }),
      )
      res.writeHead(answer.status).end()
    })
    const service = await start([portalSeed({ hookUrl: server.url })])
    const [attempt] = await service.trigger({
      serviceType: 'Portal',
      serviceName: 'self',
      changeType: `/items/${ITEM}/share`,
    })
    expect([attempt?.answer?.status, seen]).toEqual([200, [['share', ITEM]]])
  })
})
