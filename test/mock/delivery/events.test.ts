import type { MockEvent, Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { create, JOB, seed } from '../support.ts'
import { CREATED, createAt, named, PLAIN, payloadOf, receive } from './support.ts'

const FEATURE_CHANGES = ['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted']
const OTHERS = [
  'FeaturesEdited',
  'AttachmentsCreated',
  'AttachmentsUpdated',
  'AttachmentsDeleted',
  'LayerSchemaChanged',
  'LayerDefinitionChanged',
  'FeatureServiceDefinitionChanged',
  'PostPerformed',
  'ServiceDefinitionChanged',
  'SomethingNew',
  '__proto__',
  'constructor',
  'Flurstück geändert',
]
const JOB_ENDS = ['esriJobSucceeded', 'esriJobFailed', 'esriJobCancelled', 'esriJobTimedOut']
/** Nobody is asked: the host is not allowed, and the attempt stands in the record at once. */
const REFUSED = 'http://receiver.example/hook'

const reached = async (webhooks: Webhook[], event: Partial<MockEvent>): Promise<string[]> => {
  const attempts = await create(webhooks).trigger({ ...CREATED, ...event })
  return attempts.map(({ webhookId }) => webhookId)
}

describe('an event reaches the webhooks that select it', () => {
  it.each([...FEATURE_CHANGES, ...OTHERS])('%s', async (changeType) => {
    const other = changeType === 'LayerSchemaChanged' ? 'LayerDefinitionChanged' : 'LayerSchemaChanged'
    const webhooks = named(REFUSED, {
      own: { changeTypes: [changeType] },
      ownAndOther: { changeTypes: [other, changeType] },
      edited: { changeTypes: ['FeaturesEdited'] },
      all: { changeTypes: ['*'] },
      thrice: { changeTypes: [changeType, 'FeaturesEdited', '*'] },
      other: { changeTypes: [other] },
      lowerCase: { changeTypes: [changeType.replace(/[A-Z]/, (letter) => letter.toLowerCase())] },
      asleep: { active: false },
      elsewhere: { serviceName: 'Roads' },
      inFolder: { folderName: 'City' },
      jobs: { serviceType: 'GPServer', serviceName: 'Buffer' },
    })
    const isEdit = FEATURE_CHANGES.includes(changeType) || changeType === 'FeaturesEdited'
    const isOwnInLowerCase = !/[A-Z]/.test(changeType)
    expect(await reached(webhooks, { changeType })).toEqual([
      'own',
      'ownAndOther',
      ...(isEdit ? ['edited'] : []),
      'all',
      'thrice',
      ...(isOwnInLowerCase ? ['lowerCase'] : []),
    ])
  })

  it('the folder is part of the name', async () => {
    const webhooks = named(REFUSED, { root: {}, city: { folderName: 'City' } })
    expect(await reached(webhooks, {})).toEqual(['root'])
    expect(await reached(webhooks, { folderName: '' })).toEqual(['root'])
    expect(await reached(webhooks, { folderName: 'City' })).toEqual(['city'])
  })
})

describe('the end of a job', () => {
  it.each(JOB_ENDS)(
    '%s reaches the webhooks of geoprocessing services, and no others',
    async (changeType) => {
      const job: Partial<Webhook> = { serviceType: 'GPServer' }
      const webhooks = named(REFUSED, {
        feature: {},
        all: job,
        own: { ...job, changeTypes: [changeType] },
        edits: { ...job, changeTypes: ['FeaturesEdited'] },
        asleep: { ...job, active: false },
      })
      expect(await reached(webhooks, { serviceType: 'GPServer', changeType })).toEqual(['all', 'own'])
      await expect(reached(webhooks, { serviceType: 'FeatureServer', changeType })).rejects.toMatchObject({
        code: 'config_invalid',
        message: `${changeType} is the end of a job; Parcels is a feature service`,
      })
    },
  )

  it.each([...FEATURE_CHANGES, 'FeaturesEdited', 'AttachmentsCreated', 'PostPerformed'])(
    '%s does not happen on a geoprocessing service',
    async (changeType) => {
      await expect(reached([JOB], { serviceName: 'Buffer', changeType })).rejects.toMatchObject({
        code: 'config_invalid',
        message: `${changeType} happens on feature services; Buffer is a geoprocessing service`,
      })
    },
  )

  it('a string of its own does', async () => {
    expect(await reached([JOB], { serviceName: 'Buffer', changeType: 'JobArchived' })).toEqual([JOB.id])
  })

  it('is one delivery for each job, with one job id for all webhooks', async () => {
    const { url, requests } = await receive()
    const service = create(named(url, { a: JOB_OF, b: JOB_OF }))
    const done = { serviceName: 'Buffer', changeType: 'esriJobSucceeded', layerIds: [0, 1] }
    await service.trigger([done, { ...done, jobId: 'j2' }])
    const bodies = requests.map((request) => payloadOf(request))
    const idsOf = (name: string) => bodies.filter((body) => body.name === name).map(({ jobId = '' }) => jobId)
    expect(idsOf('a')).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), 'j2'])
    expect(idsOf('b')).toEqual(idsOf('a'))
    await service.trigger(done)
    expect(payloadOf(requests[4]!).jobId, 'another event, another job').not.toBe(idsOf('a')[0])
  })
})

const JOB_OF: Partial<Webhook> = { serviceType: 'GPServer', serviceName: 'Buffer' }

describe('an event that cannot happen is refused, and nothing is sent', () => {
  const cases: [string, Partial<MockEvent>, string][] = [
    ['the wildcard', { changeType: '*' }, 'changeType says what happened; * is for subscriptions'],
    ['a service that is not there', { serviceName: 'Rivers' }, 'there is no service Rivers'],
    [
      'a type that is not there',
      { serviceType: 'GPServer', serviceName: 'Roads' },
      'there is no service Roads.GPServer',
    ],
    ['a folder that is not there', { folderName: 'Village' }, 'there is no service Village/Parcels'],
    ['a name that both types share', { serviceName: 'Both' }, 'serviceType is needed for Both'],
    ['no name of what happened', { changeType: '' }, expect.stringMatching(/^event\.changeType/)],
    ['white space around it', { changeType: ' FeaturesCreated' }, expect.stringMatching(/^changeType/)],
    ['a time that is none', { when: Number.NaN }, expect.stringMatching(/^event\.when/)],
    ['a time with a fraction', { when: 0.5 }, expect.stringMatching(/^event\.when/)],
    ['no layers', { layerIds: [] }, expect.stringMatching(/^event\.layerIds/)],
    ['a layer that is none', { layerIds: [-1] }, expect.stringMatching(/^event\.layerIds/)],
    ['an empty job id', { jobId: '' }, expect.stringMatching(/^event\.jobId/)],
    ['a misspelled member', { layers: [1] } as object, expect.stringMatching(/^event/)],
  ]
  it.each(cases)('%s', async (_, event, message) => {
    const service = create(
      named(REFUSED, {
        parcels: {},
        roads: { serviceName: 'Roads' },
        both: { serviceName: 'Both' },
        jobs: { serviceName: 'Both', serviceType: 'GPServer' },
      }),
    )
    // Together with one that can happen: all or nothing.
    const triggered = service.trigger([CREATED, { ...CREATED, ...event }])
    await expect(triggered).rejects.toMatchObject({ code: 'config_invalid', message })
    expect(service.deliveries).toEqual([])
  })

  it.each(['11.1', '11.2'] as const)('PostPerformed in version %s, and not from 11.3 on', async (version) => {
    const posted = { ...CREATED, changeType: 'PostPerformed' }
    await expect(create([PLAIN], { version }).trigger(posted)).rejects.toMatchObject({
      code: 'config_invalid',
      message: `PostPerformed comes with version 11.3; this service has ${version}`,
    })
    expect(await create([PLAIN], { version: '11.3' }).trigger(posted)).toHaveLength(1)
  })

  it('a bad event does not spoil the window of the good ones', async () => {
    const { url, requests } = await receive()
    const { service, clock } = createAt([seed(PLAIN, { hookUrl: url })], { gather: 'always' })
    const good = service.trigger(CREATED)
    await expect(service.trigger({ ...CREATED, changeType: 'SomethingNew ' })).rejects.toThrow()
    await clock.advance(20_000)
    expect(await good).toHaveLength(1)
    expect(requests).toHaveLength(1)
  })
})

describe('events that are given together', () => {
  it('come in one delivery for each webhook, in their order, with their own times', async () => {
    const { url, requests } = await receive()
    const service = create(named(url, { all: {}, deleted: { changeTypes: ['FeaturesDeleted'] } }))
    const attempts = await service.trigger([
      { ...CREATED, when: 3 },
      { ...CREATED, changeType: 'FeaturesDeleted', when: 1 },
      { ...CREATED, changeType: 'AttachmentsCreated', when: 2 },
    ])
    expect(attempts.map(({ webhookId }) => webhookId)).toEqual(['all', 'deleted'])
    const byName = Object.fromEntries(
      requests.map((request) => payloadOf(request)).map(({ name, events }) => [name, events]),
    )
    expect(byName).toEqual({
      all: [
        { eventType: 'FeaturesCreated', when: 3 },
        { eventType: 'FeaturesDeleted', when: 1 },
        { eventType: 'AttachmentsCreated', when: 2 },
      ],
      deleted: [{ eventType: 'FeaturesDeleted', when: 1 }],
    })
  })

  it('that are alike are still two', async () => {
    const { url, requests } = await receive()
    const { service } = createAt([seed(PLAIN, { hookUrl: url })])
    await service.trigger([CREATED, CREATED])
    expect(payloadOf(requests[0]!).events).toHaveLength(2)
  })

  it('of several services come in one delivery for each service', async () => {
    const { url, requests } = await receive()
    const service = create(named(url, { parcels: {}, roads: { serviceName: 'Roads' } }))
    await service.trigger([CREATED, { ...CREATED, serviceName: 'Roads' }, CREATED])
    const counts = requests
      .map((r) => payloadOf(r))
      .map(({ serviceName, events }) => [serviceName, events.length])
    expect(Object.fromEntries(counts)).toEqual({ Parcels: 2, Roads: 1 })
  })

  it('may be none', async () => {
    expect(await create([PLAIN]).trigger([])).toEqual([])
  })
})
