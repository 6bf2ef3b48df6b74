import type { MockService, Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FEATURE, JOB, pathOf, post, same, seed, start } from '../support.ts'

const edit = (service: MockService, from: Webhook, parameters: Record<string, string>) =>
  post(service, `${pathOf(from)}/edit`, parameters)

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
  ])('%s=%s is applied, and other fields keep their values', async (parameter, sent, value) => {
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
      'http:127.0.0.1/hook',
      'http://[::1/hook',
      'http://127.0.0.1:65536/hook',
      'http://127.0.0.256/hook',
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
    ...['tru', '1', 'yes', 'null'].map((active): [string, string, RegExp] => [
      'active',
      active,
      /^active must be true or false$/,
    ]),
    ['contentType', 'json', /^contentType must be one of application\/json, application\/x-www/],
    ['contentType', 'application/json; charset=utf-8', /^contentType must be one of/],
    ['contentType', 'text/html', /^contentType must be one of/],
    ['payloadFormat', 'PJSON', /^payloadFormat must be one of json, pjson$/],
    ['payloadFormat', 'toString', /^payloadFormat must be one of json, pjson$/],
    ['changeTypes', '', /^changeTypes is required$/],
    ...WRONG_SCHEDULES.map((text): [string, string, RegExp] => ['scheduleInfo', text, /^scheduleInfo/]),
  ])('refuses %s=%s, names the parameter, and changes nothing', async (parameter, sent, message) => {
    const service = await start()
    const before = service.snapshot()
    const { status, body } = await edit(service, FEATURE, { ...same(FEATURE), [parameter]: sent })
    expect([status, body]).toEqual([
      400,
      { status: 'error', messages: [expect.stringMatching(message)], code: 400 },
    ])
    expect(service.snapshot()).toEqual(before)
  })

  it('reports all invalid parameters in one response', async () => {
    const service = await start()
    const { body } = await edit(service, FEATURE, { active: 'maybe', payloadFormat: 'xml' })
    expect(body.messages).toEqual([
      'name is required',
      'changeTypes is required',
      'hookUrl is required',
      'active must be true or false',
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
  ])('requires %s for a %s, except changeTypes for a GPServer', async (parameter, _, from, isTaken) => {
    const service = await start()
    const { [parameter]: _left, ...parameters } = same(from)
    const { status, body } = await edit(service, from, parameters)
    expect(status).toBe(isTaken ? 200 : 400)
    if (!isTaken) expect(body.messages).toEqual([`${parameter} is required`])
  })

  it.each([
    ['left out', {}],
    ['empty', { signatureKey: '', active: '', contentType: '', scheduleInfo: '', payloadFormat: '', f: '' }],
  ])('optional parameters that are %s keep their values', async (_, parameters) => {
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
    ['{"name":"often"}', 200],
    ['{"name":"Every-20","state":"enabled","recurrenceInfo":{"interval":20,"frequency":"second"}}', 200],
    ['[]', 400],
  ])('ignores the schedule of a geoprocessing webhook: %s', async (scheduleInfo, status) => {
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

  const send = (service: MockService, from: Webhook, values: string[]) => {
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
  ])('refuses %j', async (values, message) => {
    const service = await start()
    const before = service.snapshot()
    const { status, body } = await send(service, FEATURE, values)
    expect([status, body.messages]).toEqual([400, [expect.stringMatching(message)]])
    expect(service.snapshot()).toEqual(before)
  })

  it('must be the wildcard for a geoprocessing webhook', async () => {
    const service = await start()
    expect((await send(service, JOB, ['*'])).body.changeTypes).toEqual(['*'])
    const { status, body } = await send(service, JOB, ['FeaturesCreated'])
    expect([status, body.messages]).toEqual([400, ['changeTypes holds "FeaturesCreated"; a GPServer has *']])
  })
})
