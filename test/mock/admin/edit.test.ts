import { createManualClock, type MockService, type Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FEATURE, JOB, type Posted, pathOf, post, same, seed, start } from '../support.ts'

const edit = (service: MockService, from: Webhook, parameters: Record<string, string>) =>
  post(service, `${pathOf(from)}/edit`, parameters)

describe('the response of an edit has the fields of the specification, with their order and types', () => {
  const NOW = 1800000000000
  const SCHEDULE = JSON.stringify({
    recurrenceInfo: { frequency: 'minute', interval: 5 },
    startAt: 1750000000000,
    state: 'disabled',
    name: 'seldom',
  })

  /** Each field after the edit: name, type, and value in both webhooks (docs/specification.md, "Webhook"). */
  const FIELDS: [name: string, type: string, feature: unknown, job: unknown][] = [
    ['id', 'string', FEATURE.id, JOB.id],
    ['folderName', 'string', '', ''],
    ['serviceName', 'string', 'Parcels', 'Buffer'],
    ['serviceType', 'string', 'FeatureServer', 'GPServer'],
    ['name', 'string', 'renamed', 'renamed'],
    ['changeTypes', 'array of string', ['FeaturesDeleted', 'FeaturesEdited'], ['*']],
    ['signatureKey', 'string', 'parcels2027', 'parcels2027'],
    ['hookUrl', 'string', 'https://receiver.example/v2', 'https://receiver.example/v2'],
    ['active', 'boolean', false, false],
    ['contentType', 'string', 'application/x-www-form-urlencoded', 'application/x-www-form-urlencoded'],
    ['scheduleInfo', 'object', JSON.parse(SCHEDULE), {}],
    ['payloadFormat', 'string', 'pjson', 'pjson'],
    ['created', 'integer', FEATURE.created, JOB.created],
    ['modified', 'integer', NOW, NOW],
    ['ownerId', 'string', 'alice', 'alice'],
    ['modifiedId', 'string', 'admin', 'admin'],
    ['status', 'string', 'success', 'success'],
  ]

  const typeOf = (value: unknown): string => {
    if (Number.isSafeInteger(value)) return 'integer'
    if (!Array.isArray(value)) return typeof value
    return value.every((item) => typeof item === 'string') ? 'array of string' : 'array'
  }

  const editAll = async (from: Webhook, f?: string): Promise<Posted> => {
    const service = await start(undefined, { clock: createManualClock(NOW) })
    return edit(service, from, {
      name: 'renamed',
      changeTypes: from === FEATURE ? 'FeaturesDeleted,FeaturesEdited' : '*',
      signatureKey: 'parcels2027',
      hookUrl: 'https://receiver.example/v2',
      active: 'false',
      contentType: 'application/x-www-form-urlencoded',
      ...(from === FEATURE ? { scheduleInfo: SCHEDULE } : {}),
      payloadFormat: 'pjson',
      ...(f === undefined ? {} : { f }),
    })
  }

  describe.each(['json', 'pjson'])('f=%s', (f) => {
    it.each(FIELDS)('%s, %s', async (name, type, feature, job) => {
      for (const [from, value] of [[FEATURE, feature] as const, [JOB, job] as const]) {
        const { status, body } = await editAll(from, f)
        expect(status).toBe(200)
        expect(typeOf(body[name])).toBe(type)
        expect(body[name]).toEqual(value)
      }
    })

    it.each([
      ['feature service', FEATURE],
      ['geoprocessing service', JOB],
    ])('contains only these fields, in this order, for a %s', async (_, from) => {
      const { body } = await editAll(from, f)
      expect(Object.keys(body)).toEqual(FIELDS.map(([name]) => name))
    })

    it('orders the members of the schedule as in the specification, not as in the request', async () => {
      const schedule = (await editAll(FEATURE, f)).body.scheduleInfo as { recurrenceInfo: object }
      expect(Object.keys(schedule)).toEqual(['name', 'state', 'startAt', 'recurrenceInfo'])
      expect(Object.keys(schedule.recurrenceInfo)).toEqual(['interval', 'frequency'])
    })
  })

  it.each<[string | undefined, number]>([
    [undefined, 0],
    ['', 0],
    ['json', 0],
    ['pjson', 2],
  ])('f=%s is JSON with an indent of %i', async (f, indent) => {
    const { text, body, headers } = await editAll(FEATURE, f)
    expect(text).toBe(JSON.stringify(body, null, indent))
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  })

  it('reads f from the query if the form does not contain it', async () => {
    const service = await start()
    const inQuery = (query: string, parameters: Record<string, string>) =>
      post(service, `${pathOf(FEATURE)}/edit?${query}`, { ...same(FEATURE), ...parameters })
    expect((await inQuery('f=pjson', {})).text).toContain('\n  "id"')
    expect((await inQuery('f=pjson', { f: 'json' })).text).not.toContain('\n')
    expect((await inQuery('f=', {})).status).toBe(200)
    expect((await inQuery('f=xml', {})).status).toBe(400)
    expect((await inQuery('f=json&f=pjson', {})).status).toBe(400)
  })
})

describe('owner and times', () => {
  it('an edit keeps created and ownerId, and updates modified and modifiedId', async () => {
    const clock = createManualClock(1800000000000)
    const service = await start(undefined, { clock })
    for (const step of [0, 5000]) {
      await clock.advance(step)
      const { body } = await edit(service, FEATURE, same(FEATURE))
      expect(body).toMatchObject({
        created: FEATURE.created,
        ownerId: 'alice',
        modified: clock.now(),
        modifiedId: 'admin',
      })
    }
  })
})

describe('names', () => {
  const other = seed(FEATURE, { id: 'other', name: 'other' })

  it('refuses the same name for two webhooks of a service', async () => {
    const service = await start([seed(FEATURE), other])
    const before = service.snapshot()
    const { status, body } = await edit(service, FEATURE, { ...same(FEATURE), name: 'other' })
    expect([status, body]).toEqual([
      400,
      { status: 'error', messages: ['name is taken by another webhook of this service'], code: 400 },
    ])
    expect(service.snapshot()).toEqual(before)
  })

  it.each([
    ['another service', seed(JOB, { name: 'other' })],
    ['a service of this name in a folder', { ...other, folderName: 'City' }],
    ['a service of this name and another type', { ...other, serviceType: 'GPServer' as const }],
  ])('accepts the name of a webhook of %s', async (_, elsewhere) => {
    const service = await start([seed(FEATURE), elsewhere])
    expect((await edit(service, FEATURE, { ...same(FEATURE), name: 'other' })).status).toBe(200)
  })

  it('a webhook can keep its name, or take the name of a deleted webhook', async () => {
    const service = await start([seed(FEATURE), other])
    expect((await edit(service, FEATURE, same(FEATURE))).status).toBe(200)
    await post(service, `${pathOf(other)}/delete`, {})
    expect((await edit(service, FEATURE, { ...same(FEATURE), name: 'other' })).status).toBe(200)
  })
})

describe('folders', () => {
  const CITY = seed(FEATURE, { folderName: 'City', id: 'city' })

  it('edits and deletes a webhook of a service in a folder', async () => {
    const service = await start([seed(FEATURE), CITY])
    const { body } = await post(
      service,
      '/services/City/Parcels.FeatureServer/webhooks/city/edit',
      same(FEATURE),
    )
    expect(body).toMatchObject({ id: 'city', folderName: 'City', serviceName: 'Parcels', status: 'success' })
    const deleted = await post(service, '/services/City/Parcels.FeatureServer/webhooks/city/delete', {})
    expect(deleted.body).toEqual({ status: 'success' })
    expect(service.snapshot().webhooks.map(({ id }) => id)).toEqual([FEATURE.id])
  })

  it.each([
    ['the root', pathOf({ ...CITY, folderName: '' })],
    ['another folder', pathOf({ ...CITY, folderName: 'Country' })],
    ['another name', pathOf({ ...CITY, serviceName: 'Buffer' })],
    ['another type', pathOf({ ...CITY, serviceType: 'GPServer' })],
    ['a name in lower case', pathOf({ ...CITY, serviceName: 'parcels' })],
    ['a folder that is part of the name', pathOf({ ...CITY, folderName: '', serviceName: 'City%2FParcels' })],
    ['no type', pathOf(CITY).replace('.FeatureServer', '')],
  ])('a webhook cannot be reached through %s', async (_, path) => {
    const service = await start([
      seed(FEATURE),
      seed(JOB),
      CITY,
      { ...CITY, folderName: 'Country', id: 'country' },
      { ...CITY, serviceType: 'GPServer', id: 'city-job' },
    ])
    const before = service.snapshot()
    for (const operation of ['edit', 'delete']) {
      const { status, body } = await post(service, `${path}/${operation}`, same(FEATURE))
      expect([status, body.code]).toEqual([404, 404])
    }
    expect(service.snapshot()).toEqual(before)
  })
})
