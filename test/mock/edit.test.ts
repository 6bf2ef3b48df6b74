import type { MockService } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FEATURE, JOB, type Posted, pathOf, post, same, seed, start } from './support.ts'

const edit = (service: MockService, from: typeof FEATURE | typeof JOB, parameters: Record<string, string>) =>
  post(service, `${pathOf(from)}/edit`, parameters)

describe('the answer of an edit has the fields of the specification, in their order and with their types', () => {
  const NOW = 1800000000000
  const SCHEDULE = JSON.stringify({
    recurrenceInfo: { frequency: 'minute', interval: 5 },
    startAt: 1750000000000,
    state: 'disabled',
    name: 'seldom',
  })

  /** Name, type and value of each field after the edit below (specification, "Webhook"). */
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

  const editAll = async (from: typeof FEATURE | typeof JOB, f?: string): Promise<Posted> => {
    const service = await start(undefined, { clock: () => NOW })
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
    ])('no other field, and their order, for a %s', async (_, from) => {
      const { body } = await editAll(from, f)
      expect(Object.keys(body)).toEqual(FIELDS.map(([name]) => name))
    })

    it('the schedule keeps the order of the specification, whatever order it was sent in', async () => {
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

  it('f is also read from the query, where the form does not have it', async () => {
    const service = await start()
    const inQuery = (query: string, parameters: Record<string, string>) =>
      post(service, `${pathOf(FEATURE)}/edit?${query}`, { ...same(FEATURE), ...parameters })
    expect((await inQuery('f=pjson', {})).text).toContain('\n  "id"')
    expect((await inQuery('f=pjson', { f: 'json' })).text).not.toContain('\n')
    expect((await inQuery('f=', {})).status).toBe(200)
    expect((await inQuery('f=html', {})).status).toBe(400)
    expect((await inQuery('f=json&f=pjson', {})).status).toBe(400)
  })
})

describe('each parameter of an edit', () => {
  const LONG_URL = `http://127.0.0.1/${'a'.repeat(2031)}`
  const schedule = (changes: object): [string, unknown] => [
    JSON.stringify(changes),
    { ...FEATURE.scheduleInfo, ...changes },
  ]

  it.each<[parameter: string, sent: string, value: unknown]>([
    ['name', 'n', 'n'],
    ['name', 'n'.repeat(256), 'n'.repeat(256)],
    ['name', 'Straße 東京 🗺️', 'Straße 東京 🗺️'],
    ['name', '__proto__', '__proto__'],
    ['name', 'constructor', 'constructor'],
    ['name', 'a&b=c+d%20e', 'a&b=c+d%20e'],
    ['signatureKey', 'parcels2027', 'parcels2027'],
    ['signatureKey', 'k'.repeat(1024), 'k'.repeat(1024)],
    ['hookUrl', 'https://receiver.example', 'https://receiver.example'],
    ['hookUrl', 'HTTP://127.0.0.1:3000/hook?a=1&b=2', 'HTTP://127.0.0.1:3000/hook?a=1&b=2'],
    ['hookUrl', LONG_URL, LONG_URL],
    ['active', 'true', true],
    ['active', 'false', false],
    ['contentType', 'application/json', 'application/json'],
    ['contentType', 'application/x-www-form-urlencoded', 'application/x-www-form-urlencoded'],
    ['payloadFormat', 'json', 'json'],
    ['payloadFormat', 'pjson', 'pjson'],
    ['scheduleInfo', '{}', FEATURE.scheduleInfo],
    ['scheduleInfo', ...schedule({ name: '' })],
    ['scheduleInfo', ...schedule({ state: 'disabled' })],
    ['scheduleInfo', ...schedule({ startAt: 0 })],
    ...['second', 'minute', 'hour', 'day', 'week', 'month', 'year'].map(
      (frequency): [string, string, unknown] => [
        'scheduleInfo',
        ...schedule({ recurrenceInfo: { interval: 1, frequency } }),
      ],
    ),
  ])('%s=%s is taken, and the others stay', async (parameter, sent, value) => {
    const service = await start()
    const [before] = service.snapshot().webhooks
    const { status, body } = await edit(service, FEATURE, { ...same(FEATURE), [parameter]: sent })
    expect([status, body[parameter]]).toEqual([200, value])
    const { modified, modifiedId } = body
    const after = { ...before, [parameter]: value, modified, modifiedId }
    expect(body).toEqual({ ...after, status: 'success' })
    expect(service.snapshot().webhooks[0]).toEqual(after)
  })

  const WRONG_SCHEDULES = [
    'often',
    '[]',
    'null',
    '"enabled"',
    '{',
    '{"name":7}',
    `{"name":"${'n'.repeat(257)}"}`,
    '{"state":"paused"}',
    '{"state":["enabled"]}',
    '{"startAt":"now"}',
    '{"startAt":-1}',
    '{"startAt":1.5}',
    '{"startAt":1e400}',
    '{"recurrenceInfo":null}',
    '{"recurrenceInfo":[1,"second"]}',
    '{"recurrenceInfo":{"interval":5}}',
    '{"recurrenceInfo":{"interval":0,"frequency":"second"}}',
    '{"recurrenceInfo":{"interval":"5","frequency":"second"}}',
    '{"recurrenceInfo":{"interval":5,"frequency":"fortnight"}}',
    '{"recurrenceInfo":{"interval":5,"frequency":"second","until":1}}',
    '{"recurrenceInfo":{"__proto__":{"interval":5},"frequency":"second"}}',
    '{"__proto__":{"name":"x"}}',
    '{"constructor":{}}',
    '{"colour":"red"}',
  ]

  it.each<[parameter: string, sent: string, message: RegExp]>([
    ['name', '', /^name is required$/],
    ['name', ' n', /^name has white space around it$/],
    ['name', 'n\n', /^name has white space around it$/],
    ['name', 'n'.repeat(257), /^name is longer than 256 characters$/],
    ['signatureKey', ' parcels2027', /^signatureKey has white space around it$/],
    ['signatureKey', ' ', /^signatureKey has white space around it$/],
    ['signatureKey', 'k'.repeat(1025), /^signatureKey is longer than 1024 characters$/],
    ['hookUrl', '', /^hookUrl is required$/],
    ...[
      'receiver',
      '/hook',
      '//receiver.example/hook',
      'http://',
      'javascript:alert(1)',
      'java\nscript:alert(1)',
      'file:///etc/passwd',
      'ftp://127.0.0.1/hook',
      'data:text/plain,hook',
      ' http://127.0.0.1/',
      'http://127.0.0.1/\n',
      'ht\ttp://127.0.0.1/',
      'http://127.0.0.1/a b',
      `${LONG_URL}a`,
    ].map((url): [string, string, RegExp] => [
      'hookUrl',
      url,
      /^hookUrl must be an http or https URL of at most 2048/,
    ]),
    ...['TRUE', '1', 'yes', 'null'].map((active): [string, string, RegExp] => [
      'active',
      active,
      /^active must be one of true, false$/,
    ]),
    ['contentType', 'json', /^contentType must be one of application\/json, application\/x-www/],
    ['contentType', 'application/json; charset=utf-8', /^contentType must be one of/],
    ['contentType', 'text/html', /^contentType must be one of/],
    ['payloadFormat', 'PJSON', /^payloadFormat must be one of json, pjson$/],
    ['payloadFormat', 'toString', /^payloadFormat must be one of json, pjson$/],
    ['changeTypes', '', /^changeTypes is required$/],
    ...WRONG_SCHEDULES.map((text): [string, string, RegExp] => ['scheduleInfo', text, /^scheduleInfo/]),
  ])('%s=%s is refused by its name, and nothing changes', async (parameter, sent, message) => {
    const service = await start()
    const before = service.snapshot()
    const { status, body } = await edit(service, FEATURE, { ...same(FEATURE), [parameter]: sent })
    expect([status, body]).toEqual([
      400,
      { status: 'error', messages: [expect.stringMatching(message)], code: 400 },
    ])
    expect(service.snapshot()).toEqual(before)
  })

  it('all that is wrong is said at once', async () => {
    const service = await start()
    const { body } = await edit(service, FEATURE, { active: 'maybe', payloadFormat: 'xml' })
    expect(body.messages).toEqual([
      'name is required',
      'changeTypes is required',
      'hookUrl is required',
      'active must be one of true, false',
      'payloadFormat must be one of json, pjson',
    ])
  })

  it.each([
    ['name', 'FeatureServer', FEATURE, false],
    ['name', 'GPServer', JOB, false],
    ['hookUrl', 'FeatureServer', FEATURE, false],
    ['hookUrl', 'GPServer', JOB, false],
    ['changeTypes', 'FeatureServer', FEATURE, false],
    ['changeTypes', 'GPServer', JOB, true],
  ])('without %s, for a %s', async (parameter, _, from, isTaken) => {
    const service = await start()
    const { [parameter]: _left, ...parameters } = same(from)
    const { status, body } = await edit(service, from, parameters)
    expect(status).toBe(isTaken ? 200 : 400)
    if (!isTaken) expect(body.messages).toEqual([`${parameter} is required`])
  })

  it.each([
    ['left out', {}],
    ['empty', { signatureKey: '', active: '', contentType: '', scheduleInfo: '', payloadFormat: '', f: '' }],
  ])('optional parameters that are %s keep what the webhook has', async (_, parameters) => {
    const webhook = seed(FEATURE, {
      active: false,
      contentType: 'application/x-www-form-urlencoded',
      payloadFormat: 'pjson',
    })
    const service = await start([webhook])
    const { body } = await edit(service, FEATURE, { ...same(FEATURE), ...parameters })
    const { signatureKey, active, contentType, scheduleInfo, payloadFormat } = webhook
    expect(body).toMatchObject({ signatureKey, active, contentType, scheduleInfo, payloadFormat })
  })

  it.each<[scheduleInfo: string, status: number]>([
    ['{}', 200],
    ['{"name":"often"}', 400],
    ['[]', 400],
  ])('a geoprocessing webhook has no schedule: %s', async (scheduleInfo, status) => {
    const service = await start()
    const answer = await edit(service, JOB, { ...same(JOB), scheduleInfo })
    expect(answer.status).toBe(status)
    expect(service.snapshot().webhooks[1]?.scheduleInfo).toEqual({})
  })
})

describe('changeTypes', () => {
  const EVERY = [
    'FeaturesCreated',
    'FeaturesUpdated',
    'FeaturesDeleted',
    'FeaturesEdited',
    'AttachmentsCreated',
    'AttachmentsUpdated',
    'AttachmentsDeleted',
    'LayerSchemaChanged',
    'LayerDefinitionChanged',
    'FeatureServiceDefinitionChanged',
    'PostPerformed',
    '*',
  ]

  const send = (service: MockService, from: typeof FEATURE | typeof JOB, values: string[]) => {
    const { changeTypes, ...others } = same(from)
    return post(service, `${pathOf(from)}/edit`, [
      ...Object.entries(others),
      ...values.map((value): [string, string] => ['changeTypes', value]),
    ])
  }

  it.each<[form: string, values: string[], expected: string[]]>([
    ['one', ['FeaturesDeleted'], ['FeaturesDeleted']],
    ['comma-separated', ['FeaturesDeleted,FeaturesCreated'], ['FeaturesDeleted', 'FeaturesCreated']],
    ['comma-separated with spaces', [' FeaturesDeleted , * ,'], ['FeaturesDeleted', '*']],
    ['a JSON array', ['["FeaturesDeleted","FeaturesCreated"]'], ['FeaturesDeleted', 'FeaturesCreated']],
    ['a JSON array with spaces', [' [ "FeaturesDeleted" ] '], ['FeaturesDeleted']],
    ['repeated', ['FeaturesDeleted', 'FeaturesCreated'], ['FeaturesDeleted', 'FeaturesCreated']],
    [
      'repeated and mixed',
      ['["FeaturesDeleted"]', '*,FeaturesEdited'],
      ['FeaturesDeleted', '*', 'FeaturesEdited'],
    ],
    ['one twice', ['FeaturesDeleted,FeaturesDeleted', 'FeaturesDeleted'], ['FeaturesDeleted']],
    ['the wildcard', ['*'], ['*']],
    ['every one', [EVERY.join(',')], EVERY],
  ])('%s', async (_, values, expected) => {
    const service = await start()
    const { status, body } = await send(service, FEATURE, values)
    expect([status, body.changeTypes]).toEqual([200, expected])
  })

  it.each<[values: string[], message: RegExp]>([
    [[','], /^changeTypes is required$/],
    [['[]'], /^changeTypes is required$/],
    [['[""]'], /holds ""/],
    [['FeaturesCreated,Nonsense'], /holds "Nonsense"; a FeatureServer has \*, FeaturesCreated, /],
    [['featurescreated'], /holds "featurescreated"/],
    [['esriJobSucceeded'], /holds "esriJobSucceeded"/],
    [['__proto__'], /holds "__proto__"/],
    [['constructor'], /holds "constructor"/],
    [['["FeaturesCreated",7]'], /^changeTypes must be comma-separated or a JSON array of texts$/],
    [['["FeaturesCreated"'], /^changeTypes must be comma-separated/],
    [['['.repeat(100_000)], /^changeTypes must be comma-separated/],
    [['{"0":"FeaturesCreated"}'], /holds /],
  ])('%j is refused', async (values, message) => {
    const service = await start()
    const before = service.snapshot()
    const { status, body } = await send(service, FEATURE, values)
    expect([status, body.messages]).toEqual([400, [expect.stringMatching(message)]])
    expect(service.snapshot()).toEqual(before)
  })

  it('of a geoprocessing webhook can only be the wildcard', async () => {
    const service = await start()
    expect((await send(service, JOB, ['*'])).body.changeTypes).toEqual(['*'])
    const { status, body } = await send(service, JOB, ['FeaturesCreated'])
    expect([status, body.messages]).toEqual([400, ['changeTypes holds "FeaturesCreated"; a GPServer has *']])
  })
})

describe('whose and when', () => {
  it('created and ownerId stay, modified and modifiedId move with each edit', async () => {
    let now = 1800000000000
    const service = await start(undefined, { clock: () => now })
    for (const step of [0, 5000]) {
      now += step
      const { body } = await edit(service, FEATURE, same(FEATURE))
      expect(body).toMatchObject({
        created: FEATURE.created,
        ownerId: 'alice',
        modified: now,
        modifiedId: 'admin',
      })
    }
  })
})

describe('names', () => {
  const other = seed(FEATURE, { id: 'other', name: 'other' })

  it('one name for two webhooks of a service is refused', async () => {
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
  ])('the name of a webhook of %s is free', async (_, elsewhere) => {
    const service = await start([seed(FEATURE), elsewhere])
    expect((await edit(service, FEATURE, { ...same(FEATURE), name: 'other' })).status).toBe(200)
  })

  it('a webhook may keep its own name, and take the one of a deleted webhook', async () => {
    const service = await start([seed(FEATURE), other])
    expect((await edit(service, FEATURE, same(FEATURE))).status).toBe(200)
    await post(service, `${pathOf(other)}/delete`, {})
    expect((await edit(service, FEATURE, { ...same(FEATURE), name: 'other' })).status).toBe(200)
  })
})

describe('folders', () => {
  const CITY = seed(FEATURE, { folderName: 'City', id: 'city' })

  it('a webhook of a service in a folder is edited and deleted below it', async () => {
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
  ])('a webhook is not reached through %s', async (_, path) => {
    const service = await start([
      seed(FEATURE),
      seed(JOB),
      CITY,
      { ...CITY, folderName: 'Country', id: 'country' },
      { ...CITY, serviceType: 'GPServer', id: 'city job' },
    ])
    const before = service.snapshot()
    for (const operation of ['edit', 'delete']) {
      const { status, body } = await post(service, `${path}/${operation}`, same(FEATURE))
      expect([status, body.code]).toEqual([404, 404])
    }
    expect(service.snapshot()).toEqual(before)
  })
})
