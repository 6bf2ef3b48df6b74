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
/** A payload URL whose host is not allowed. The service records the attempt, but sends no request. */
const REFUSED = 'http://receiver.example/hook'

const reached = async (webhooks: Webhook[], event: Partial<MockEvent>): Promise<string[]> => {
  const attempts = await create(webhooks).trigger({ ...CREATED, ...event })
  return attempts.map(({ webhookId }) => webhookId)
}

describe('an event reaches the webhooks that subscribe to it', () => {
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

  it('the folder is part of the name of a service', async () => {
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
    '%s is impossible on a geoprocessing service',
    async (changeType) => {
      await expect(reached([JOB], { serviceName: 'Buffer', changeType })).rejects.toMatchObject({
        code: 'config_invalid',
        message: `${changeType} happens on feature services; Buffer is a geoprocessing service`,
      })
    },
  )

  it('a custom change type is possible on a geoprocessing service', async () => {
    expect(await reached([JOB], { serviceName: 'Buffer', changeType: 'JobArchived' })).toEqual([JOB.id])
  })

  it('is sent in one delivery for each job, with the same job id for all webhooks', async () => {
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

describe('events in one call', () => {
  it('are sent in one delivery for each webhook, in the given order, each with its own time', async () => {
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

  it('are not deduplicated', async () => {
    const { url, requests } = await receive()
    const { service } = createAt([seed(PLAIN, { hookUrl: url })])
    await service.trigger([CREATED, CREATED])
    expect(payloadOf(requests[0]!).events).toHaveLength(2)
  })

  it('of several services are sent in one delivery for each service', async () => {
    const { url, requests } = await receive()
    const service = create(named(url, { parcels: {}, roads: { serviceName: 'Roads' } }))
    await service.trigger([CREATED, { ...CREATED, serviceName: 'Roads' }, CREATED])
    const counts = requests
      .map((r) => payloadOf(r))
      .map(({ serviceName, events }) => [serviceName, events.length])
    expect(Object.fromEntries(counts)).toEqual({ Parcels: 2, Roads: 1 })
  })

  it('may be an empty list', async () => {
    expect(await create([PLAIN]).trigger([])).toEqual([])
  })
})
