import { createManualClock, type MockServiceOptions } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { capture, FEATURE, JOB, pathOf, post, same, seed, start } from '../support.ts'
import { auth, get, PARCELS, postForm, tokenOf } from './support.ts'

const NOW = 1800000000000
const EDIT = `${pathOf(FEATURE)}/edit`

describe("omitted: 'reset'", () => {
  const DEFAULTS = {
    signatureKey: '',
    active: true,
    contentType: 'application/json',
    scheduleInfo: {},
    payloadFormat: 'json',
  }
  const odd = {
    active: false,
    contentType: 'application/x-www-form-urlencoded',
    payloadFormat: 'pjson',
  } as const

  it.each([
    ['feature service', seed(FEATURE, odd), FEATURE.changeTypes],
    ['geoprocessing service', seed(JOB, odd), ['*']],
  ])('an edit of a %s resets omitted parameters to their defaults', async (_, webhook, changeTypes) => {
    const service = await start([webhook], { like: { omitted: 'reset' }, clock: createManualClock(NOW) })
    const { status } = await post(service, `${pathOf(webhook)}/edit`, same(webhook))
    expect(status).toBe(200)
    expect(service.snapshot().webhooks).toEqual([
      { ...webhook, ...DEFAULTS, changeTypes, modified: NOW, modifiedId: 'admin' },
    ])
  })

  it('applies the given parameters, and resets omitted members of a schedule to their defaults', async () => {
    const service = await start([seed(FEATURE, odd)], { like: { omitted: 'reset' } })
    const given = { signatureKey: 'parcels2027', payloadFormat: 'pjson' }
    const { body } = await post(service, EDIT, {
      ...same(FEATURE),
      ...given,
      active: 'false',
      scheduleInfo: '{"state":"disabled"}',
    })
    expect(body).toMatchObject({ ...given, active: false, contentType: 'application/json' })
    expect(body.scheduleInfo).toEqual({
      name: '',
      state: 'disabled',
      startAt: FEATURE.created,
      recurrenceInfo: { interval: 20, frequency: 'second' },
    })
  })

  it('activateAll and deactivateAll do not reset other fields', async () => {
    const service = await start(undefined, { like: { omitted: 'reset' } })
    for (const operation of ['deactivateAll', 'activateAll'])
      await post(service, `/services/Parcels.FeatureServer/webhooks/${operation}`, {})
    const { modified, modifiedId, ...others } = FEATURE
    expect(service.snapshot().webhooks[0]).toMatchObject(others)
  })

  it('a delivery after the edit is not signed', async () => {
    const receiver = await capture()
    const service = await start(undefined, { like: { omitted: 'reset' } })
    await post(service, EDIT, { ...same(FEATURE), hookUrl: receiver.url })
    await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    expect(receiver.requests[0]?.headers['x-service']).toBeUndefined()
  })
})

describe("httpStatus: 'always200'", () => {
  it.each<[code: number, path: string, parameters: Record<string, string>]>([
    [400, EDIT, {}],
    [404, `${pathOf(FEATURE)}0/edit`, {}],
    [404, '/nowhere', {}],
    [405, EDIT, {}],
    [413, EDIT, { x: 'x'.repeat(2_000_000) }],
    [498, EDIT, { token: 'bad' }],
    [499, EDIT, {}],
    [403, EDIT, { token: 'gp' }],
  ])('the error code %i is only in the body', async (code, path, { token, ...parameters }) => {
    const hasTokens = code >= 498 || code === 403
    const service = await start(undefined, {
      like: { httpStatus: 'always200' },
      ...(hasTokens ? { auth: auth() } : {}),
    })
    const given = token === 'gp' ? await tokenOf(service, 'gp') : token
    const answer = await (code === 405
      ? get(service.url + path)
      : postForm(service.url + path, { ...parameters, ...(given ? { token: given } : {}) }))
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text)).toEqual({ status: 'error', messages: expect.any(Array), code })
  })
})

describe('save', () => {
  it('runs with the changed state before the response', async () => {
    const order: string[] = []
    const service = await start(undefined, {
      save: async ({ webhooks }) => {
        await new Promise((resolve) => setImmediate(resolve))
        order.push(`saved ${webhooks[0]?.name}`)
      },
    })
    await post(service, EDIT, { ...same(FEATURE), name: 'renamed' })
    order.push('answered')
    await get(service.url + pathOf(FEATURE))
    await post(service, EDIT, {})
    expect(order).toEqual(['saved renamed', 'answered'])
  })

  it('reports a failed save without internal details', async () => {
    const service = await start(undefined, {
      save: async () => {
        throw new Error('ENOSPC state.json')
      },
    })
    const { status, body } = await post(service, EDIT, same(FEATURE))
    expect([status, body]).toEqual([
      500,
      { status: 'error', messages: ['the change is made, but the state could not be saved'], code: 500 },
    ])
    expect((await get(service.url + pathOf(FEATURE))).status).toBe(200)
  })
})

describe('keys', () => {
  const portal = seed(FEATURE, { serviceType: 'Portal', serviceName: 'P1', id: 'p1', scheduleInfo: {} })
  const unsigned = seed(FEATURE, { id: 'unsigned', name: 'unsigned', signatureKey: '' })
  const READS = [
    PARCELS,
    pathOf(FEATURE),
    '/services/webhooks',
    '/admin/services/webhooks',
    '/rest/admin/services/Parcels/FeatureServer/WebHooks',
    '/rest/admin/WebHooks',
    '/sharing/rest/portals/P1/webhooks',
    '/sharing/rest/portals/P1/webhooks/p1',
    '/sharing/rest/portals/P1/webhooks/listServiceWebhooks',
  ]
  const startWith = (keys: 'hidden' | 'masked') =>
    start([seed(FEATURE), unsigned, portal], { like: { keys } })

  it.each(['hidden', 'masked'] as const)(
    '%s: no answer contains a key, and the snapshot does',
    async (keys) => {
      const service = await startWith(keys)
      for (const path of READS) {
        const { text } = await post(service, path, {})
        expect(text).not.toContain(FEATURE.signatureKey)
        expect(text.includes('"********"')).toBe(keys === 'masked')
      }
      const created = await post(service, `${PARCELS}/create`, {
        ...same(FEATURE),
        name: 'n',
        signatureKey: 'k1y',
      })
      expect(created.text).not.toContain('k1y')
      expect(service.snapshot().webhooks.map(({ signatureKey }) => signatureKey)).toContain('k1y')
    },
  )

  it('hidden: the member is missing, but empty on hosted paths', async () => {
    const service = await startWith('hidden')
    expect((await post(service, pathOf(FEATURE), {})).body).not.toHaveProperty('signatureKey')
    expect((await post(service, '/sharing/rest/portals/P1/webhooks/p1', {})).body).not.toHaveProperty(
      'secret',
    )
    const hosted = (await post(service, '/rest/admin/WebHooks', {})).body as unknown as object[]
    expect(hosted).toMatchObject([{ signatureKey: '' }, { signatureKey: '' }])
  })

  it('a client that writes back what it has read changes the key', async () => {
    const service = await startWith('masked')
    const keyOf = (id: string) => service.snapshot().webhooks.find((one) => one.id === id)?.signatureKey
    const { signatureKey } = (await post(service, pathOf(FEATURE), {})).body as { signatureKey: string }
    await post(service, EDIT, { ...same(FEATURE), signatureKey })
    expect(keyOf(FEATURE.id)).toBe('********')
    expect((await post(service, pathOf(unsigned), {})).body.signatureKey).toBe('')
    await post(service, EDIT, same(FEATURE))
    expect(keyOf(FEATURE.id), 'an absent key is kept').toBe('********')
    await post(service, EDIT, { ...same(FEATURE), signatureKey: '' })
    expect(keyOf(FEATURE.id)).toBe('')
  })
})

describe('creationCheck', () => {
  const CREATE = `${PARCELS}/create`
  const like = { creationCheck: true } as const

  it('a new webhook and a new URL are created only after a 2xx response', async () => {
    const receiver = await capture()
    const other = await capture()
    const service = await start([seed(FEATURE)], { like, clock: createManualClock(NOW) })
    const form = { name: 'new', hookUrl: receiver.url, changeTypes: '*' }
    const { body } = await post(service, CREATE, form)
    expect(body.status).toBe('success')
    expect(JSON.parse(String(receiver.requests[0]?.body))).toEqual([
      {
        name: 'new',
        orgId: 'myorgId',
        serviceName: 'Parcels',
        lastUpdatedTime: NOW,
        events: ['NoContent'],
      },
    ])
    await post(service, `${PARCELS}/${body.id}/edit`, form)
    await post(service, `${PARCELS}/${body.id}/edit`, { ...form, hookUrl: other.url })
    expect([receiver.requests.length, other.requests.length]).toEqual([1, 1])
    expect(service.snapshot().webhooks).toMatchObject([{}, { name: 'new', hookUrl: other.url }])
  })

  it('without a 2xx response, nothing changes', async () => {
    const refusing = await capture((_req, res) => void res.writeHead(401).end())
    const service = await start([seed(FEATURE)], { like })
    const before = service.snapshot()
    for (const path of [CREATE, EDIT]) {
      const { status, text } = await post(service, path, {
        ...same(FEATURE),
        name: 'x',
        hookUrl: refusing.url,
      })
      expect([status, text]).toEqual([400, expect.stringContaining('it answered 401')])
    }
    expect(service.snapshot()).toEqual(before)
  })

  it('two requests at once with one name create one webhook', async () => {
    const { url: hookUrl } = await capture()
    const service = await start([seed(FEATURE)], { like })
    const answers = await Promise.all([1, 2].map(() => post(service, CREATE, { name: 'same', hookUrl })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
  })
})

describe('tokenInForm', () => {
  const HOSTED = '/rest/admin/services/Parcels/FeatureServer/WebHooks'

  it.each<[like: MockServiceOptions['like'], path: string, code: number | undefined]>([
    ['service', `/admin${PARCELS}`, undefined],
    ['enterprise', `/admin${PARCELS}`, 499],
    ['enterprise', PARCELS, undefined],
    [{ product: 'enterprise', tokenInForm: false }, `/admin${PARCELS}`, undefined],
    [{ product: 'online', tokenInForm: true }, HOSTED, 499],
    [{ product: 'online', tokenInForm: true }, '/sharing/rest/portals/self/webhooks', 499],
  ])('like %j, a POST to %s with its token in a header: %s', async (like, path, code) => {
    const service = await start([seed(FEATURE)], { auth: auth(), like })
    const token = await tokenOf(service, 'both')
    const headers = { authorization: `Bearer ${token}` }
    const { text } = await postForm(service.url + path, {}, headers)
    expect((JSON.parse(text) as { error?: { code: number } }).error?.code).toBe(code)
    expect((await post(service, path, { token })).body.error).toBeUndefined()
    const read = JSON.parse((await get(`${service.url}${path}?f=json`, headers)).text)
    expect((read as { error?: object }).error).toBeUndefined()
  })
})
