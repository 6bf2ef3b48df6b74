import { createManualClock } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { capture, FEATURE, JOB, pathOf, post, same, seed, start } from '../support.ts'
import { auth, get, postForm, tokenOf } from './support.ts'

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
