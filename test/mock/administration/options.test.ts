import { createManualClock, type ServiceVersion } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { capture, FEATURE, JOB, pathOf, post, same, seed, start } from '../support.ts'
import { auth, get, postForm, SETTINGS_FIELDS, tokenOf } from './support.ts'

const NOW = 1800000000000
const EDIT = `${pathOf(FEATURE)}/edit`
const SETTINGS = '/services/webhooks/settings'

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
  ])('what an edit of a %s leaves out gets its default', async (_, webhook, changeTypes) => {
    const service = await start([webhook], { omitted: 'reset', clock: createManualClock(NOW) })
    const { status } = await post(service, `${pathOf(webhook)}/edit`, same(webhook))
    expect(status).toBe(200)
    expect(service.snapshot().webhooks).toEqual([
      { ...webhook, ...DEFAULTS, changeTypes, modified: NOW, modifiedId: 'admin' },
    ])
  })

  it('what it gives is taken; of a schedule, the members that are not given get their defaults', async () => {
    const service = await start([seed(FEATURE, odd)], { omitted: 'reset' })
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

  it('switching off and on all does not reset', async () => {
    const service = await start(undefined, { omitted: 'reset' })
    for (const operation of ['deactivateAll', 'activateAll'])
      await post(service, `/services/Parcels.FeatureServer/webhooks/${operation}`, {})
    const { modified, modifiedId, ...others } = FEATURE
    expect(service.snapshot().webhooks[0]).toMatchObject(others)
  })

  it('a delivery after it is not signed', async () => {
    const receiver = await capture()
    const service = await start(undefined, { omitted: 'reset' })
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
  ])('%i stands in the body only', async (code, path, { token, ...parameters }) => {
    const hasTokens = code >= 498 || code === 403
    const service = await start(undefined, {
      httpStatus: 'always200',
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

describe('versions', () => {
  const error = '{"status":"error","messages":["there is nothing here"],"code":404}'

  it.each([
    ['notificationStatus', `${pathOf(FEATURE)}/notificationStatus`],
    [
      'notificationStatus, without the word webhooks',
      `${pathOf(FEATURE).replace('/webhooks', '')}/notificationStatus`,
    ],
    ['the list of the site', '/services/webhooks'],
    ['settings', SETTINGS],
  ])('%s is not there at 11.1, and is not told from any path that is not there', async (_, path) => {
    const service = await start(undefined, { version: '11.1' })
    for (const method of ['GET', 'POST', 'PUT']) {
      const [there, nowhere] = await Promise.all(
        [path, `${path}s`].map(async (url) => {
          const answer = await fetch(service.url + url, { method })
          const { date, ...headers } = Object.fromEntries(answer.headers)
          return { status: answer.status, headers, text: await answer.text() }
        }),
      )
      expect(there).toMatchObject({ status: 404, text: error })
      expect(there).toEqual(nowhere)
      expect((await fetch((await start()).url + path, { method })).status).not.toBe(404)
    }
  })

  it.each<[ServiceVersion, number]>([
    ['11.1', 400],
    ['11.2', 400],
    ['11.3', 200],
  ])('%s: PostPerformed in create and edit: %i', async (version, status) => {
    const service = await start(undefined, { version })
    const parameters = { ...same(FEATURE), changeTypes: 'FeaturesCreated,PostPerformed' }
    for (const [path, name] of [
      [EDIT, FEATURE.name],
      ['/services/Parcels.FeatureServer/webhooks/create', 'new'],
    ] as const) {
      const { body, ...answer } = await post(service, path, { ...parameters, name })
      expect(answer.status).toBe(status)
      if (status === 400) {
        expect(body.messages).toEqual([
          expect.stringMatching(/^changeTypes holds "PostPerformed"; a FeatureServer has \*, [^"]*Changed$/),
        ])
      }
    }
  })

  it('the signature key is a field at 11.1 too', async () => {
    const service = await start(undefined, { version: '11.1' })
    const { body } = await post(service, EDIT, { ...same(FEATURE), signatureKey: 'parcels2027' })
    expect(body.signatureKey).toBe('parcels2027')
  })
})

describe('settings', () => {
  const DEFAULTS = {
    notificationAttempts: 3,
    notificationTimeOutInSeconds: 10,
    notificationElapsedTimeInSeconds: 5,
    numberOfFailures: 5,
    daysInPast: 5,
  }

  it('are read without parameters, and changed by those that are given', async () => {
    const service = await start()
    const read = { ...DEFAULTS }
    expect((await get(service.url + SETTINGS)).text).toBe(JSON.stringify(read))
    expect((await post(service, SETTINGS, { x: '1', numberOfFailures: '' })).body).toEqual(read)
    const { text } = await post(service, SETTINGS, { notificationAttempts: '1', daysInPast: '365' })
    const after = { ...DEFAULTS, notificationAttempts: 1, daysInPast: 365 }
    expect(text).toBe(JSON.stringify({ ...after, status: 'success' }))
    expect((await get(service.url + SETTINGS)).text).toBe(JSON.stringify(after))
    expect(service.snapshot().settings).toEqual(after)
  })

  const BOUNDS: [name: string, minimum: number, maximum: number][] = [
    ['notificationAttempts', 1, 5],
    ['notificationTimeOutInSeconds', 1, 60],
    ['notificationElapsedTimeInSeconds', 0, 3600],
    ['numberOfFailures', 1, 1000],
    ['daysInPast', 1, 365],
  ]

  it.each(BOUNDS)('%s lies between %i and %i', async (name, minimum, maximum) => {
    const service = await start()
    for (const value of [minimum, maximum]) {
      const { status, body } = await post(service, SETTINGS, { [name]: String(value) })
      expect([status, body[name]]).toEqual([200, value])
    }
    const before = service.snapshot()
    const other = name === 'daysInPast' ? 'numberOfFailures' : 'daysInPast'
    for (const value of [minimum - 1, maximum + 1, '1.5', '1e0', '0x1', ' 1', '１', 'NaN', '9'.repeat(400)]) {
      const { status, body } = await post(service, SETTINGS, { [other]: '7', [name]: String(value) })
      expect([status, body.messages]).toEqual([
        400,
        [`${name} must be a whole number from ${minimum} to ${maximum}`],
      ])
      expect(service.snapshot()).toEqual(before)
    }
  })

  it('one that is given twice is refused, and so is a change by GET', async () => {
    const service = await start()
    const twice = await post(service, SETTINGS, [
      ['daysInPast', '1'],
      ['daysInPast', '2'],
    ])
    expect([twice.status, twice.body.messages]).toEqual([400, ['daysInPast is given more than once']])
    const got = await get(`${service.url}${SETTINGS}?daysInPast=2`)
    expect([got.status, JSON.parse(got.text).messages]).toEqual([400, ['use POST to change settings']])
    expect(service.snapshot().settings).toEqual(DEFAULTS)
    expect(Object.keys(DEFAULTS)).toEqual(SETTINGS_FIELDS.map(([name]) => name))
  })
})

describe('save', () => {
  it('has happened before a change is answered, with what has changed', async () => {
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

  it('that fails is said, without what went wrong inside', async () => {
    const service = await start(undefined, {
      save: async () => {
        throw new Error('ENOSPC /home/alice/state.json')
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
