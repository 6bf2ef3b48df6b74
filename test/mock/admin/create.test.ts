import { describe, expect, it } from 'vitest'
import { capture, NOWHERE, post } from '../support.ts'
import { BUFFER, fieldsOf, LEAST, NOW, PARCELS, startEmpty, WEBHOOK_FIELDS } from './support.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
describe('create', () => {
  it.each([
    ['FeatureServer', PARCELS],
    ['GPServer', BUFFER],
  ])('applies defaults to a webhook of a %s', async (serviceType, path) => {
    const service = await startEmpty()
    const { body } = await post(service, `${path}/create`, LEAST)
    expect(fieldsOf(body)).toEqual([...WEBHOOK_FIELDS, ['status', 'string']])
    expect(body).toEqual({
      id: expect.stringMatching(UUID),
      folderName: '',
      serviceName: serviceType === 'GPServer' ? 'Buffer' : 'Parcels',
      serviceType,
      name: 'new',
      changeTypes: ['*'],
      signatureKey: '',
      hookUrl: NOWHERE,
      active: true,
      contentType: 'application/json',
      scheduleInfo: {},
      payloadFormat: 'json',
      created: NOW,
      modified: NOW,
      ownerId: 'admin',
      modifiedId: 'admin',
      status: 'success',
    })
    expect(service.snapshot().webhooks[0]?.scheduleInfo, 'no schedule of its own').toEqual({})
  })

  it('accepts every parameter of edit', async () => {
    const service = await startEmpty()
    const given = {
      ...LEAST,
      changeTypes: '["FeaturesCreated"]',
      signatureKey: 'parcels2027',
      active: 'false',
      contentType: 'application/x-www-form-urlencoded',
      scheduleInfo: '{"name":"often"}',
      payloadFormat: 'pjson',
    }
    const { body } = await post(service, `${PARCELS}/create`, given)
    const { scheduleInfo, ...others } = given
    expect(body).toMatchObject({ ...others, changeTypes: ['FeaturesCreated'], active: false })
    expect(body.scheduleInfo).toMatchObject({ name: 'often', state: 'enabled', startAt: NOW })
  })

  it.each<[string, Record<string, string>, string]>([
    ['name', { hookUrl: NOWHERE }, 'name is required'],
    ['hookUrl', { name: 'new' }, 'hookUrl is required'],
    [
      'a good URL',
      { ...LEAST, hookUrl: 'javascript:alert(1)' },
      'hookUrl must be an http or https URL of at most 2048 characters',
    ],
    ['known change types', { ...LEAST, changeTypes: 'Nonsense' }, 'changeTypes holds "Nonsense"'],
  ])('refuses a request without %s, and creates nothing', async (_, parameters, message) => {
    const service = await startEmpty()
    const { status, body } = await post(service, `${PARCELS}/create`, parameters)
    expect([status, body]).toEqual([
      400,
      { status: 'error', messages: [expect.stringContaining(message)], code: 400 },
    ])
    expect(service.snapshot().webhooks).toEqual([])
  })

  it('accepts a name once per service, but again in another service and after a delete', async () => {
    const service = await startEmpty()
    const { body } = await post(service, `${PARCELS}/create`, { ...LEAST, name: '__proto__' })
    const again = await post(service, `${PARCELS}/create`, { ...LEAST, name: '__proto__' })
    expect([again.status, again.body.messages]).toEqual([
      400,
      ['name is taken by another webhook of this service'],
    ])
    for (const path of [BUFFER, '/services/City/Parcels.FeatureServer/webhooks'])
      expect((await post(service, `${path}/create`, { ...LEAST, name: '__proto__' })).status).toBe(200)
    await post(service, `${PARCELS}/${body.id}/delete`, {})
    const third = await post(service, `${PARCELS}/create`, { ...LEAST, name: '__proto__' })
    expect(third.status).toBe(200)
    expect(third.body.id).not.toBe(body.id)
  })

  it('never reuses an id, even if the request contains it', async () => {
    const service = await startEmpty()
    const ids = new Set<unknown>()
    for (let i = 0; i < 50; i++) {
      const [last = ''] = [...ids].slice(-1)
      const { body } = await post(service, `${PARCELS}/create`, { ...LEAST, id: String(last) })
      ids.add(body.id)
      await post(service, `${PARCELS}/${body.id}/delete`, {})
    }
    expect(ids.size).toBe(50)
  })

  it('delivers to a new webhook immediately', async () => {
    const receiver = await capture()
    const service = await startEmpty()
    await post(service, `${PARCELS}/create`, { ...LEAST, hookUrl: receiver.url })
    await service.trigger({ serviceName: 'Parcels', folderName: '', changeType: 'FeaturesCreated' })
    expect(receiver.requests).toHaveLength(1)
  })
})
