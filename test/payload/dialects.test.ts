import { parsePayload } from 'geohook'
import { describe, expect, it } from 'vitest'

const json = (payload: unknown) => {
  const parsed = parsePayload({ body: JSON.stringify(payload), contentType: 'application/json' })
  if (!parsed.ok) throw new Error(parsed.message)
  return parsed
}

/** Sample payloads of each dialect (docs/senders.md, "Payloads"). */
const FEATURES = {
  serviceType: 'FeatureServer',
  changesUrl:
    'https://server.example/server/rest/services/Parcels/FeatureServer/extractChanges?serverGens=%5B1730385704442,1730385704443%5D',
  name: 'Parcel edits',
  id: 'c4a7db24-0c5e-4a00-9103-0c7d2fdc03b4',
  folderName: '',
  serviceName: 'Parcels',
  events: [{ eventType: 'FeaturesCreated', when: 1730385704000 }],
}
const JOB = {
  serviceType: 'GPServer',
  jobId: 'jb2f',
  statusURL: 'https://server.example/server/rest/services/Tools/GPServer/Buffer/jobs/jb2f',
  name: 'jobs',
  taskName: 'Buffer',
  folderName: 'Planning',
  serviceName: 'Tools',
  events: [{ eventType: 'esriJobSucceeded', when: 1730385704000 }],
}
const HOSTED = [
  {
    name: 'webhookname',
    layerId: 0,
    orgId: 'myorgId',
    serviceName: 'myService',
    lastUpdatedTime: 1629325549649,
    changesUrl:
      'https%3a%2f%2folserver.example%2fmyorgId%2frest%2fservices%2fmyService%2fFeatureServer%2fextractChanges%3fserverGens%3d%5b21891591%2c25166741%5d%26async%3dtrue',
    events: ['FeaturesCreated'],
  },
]
const ORGANIZATION = {
  info: { webhookName: 'items', webhookId: 'w1', portalURL: 'https://portal.example', when: 1730385704000 },
  events: [
    {
      username: 'kim',
      userId: 'u1',
      when: 1730385705000,
      operation: 'add',
      source: 'item',
      id: 'i1',
      properties: {},
    },
    { operation: 'delete', source: 'item', id: 'i2' },
  ],
}

describe('the service dialect', () => {
  it('reads a feature service', () => {
    expect(json(FEATURES)).toEqual({
      ok: true,
      payload: FEATURES,
      changeTypes: ['FeaturesCreated'],
      events: [
        {
          changeType: 'FeaturesCreated',
          when: new Date(1730385704000),
          webhook: { id: FEATURES.id, name: 'Parcel edits' },
          service: { folderName: '', serviceName: 'Parcels', serviceType: 'FeatureServer' },
          changesUrl: FEATURES.changesUrl,
          raw: FEATURES.events[0],
        },
      ],
    })
  })

  it('reads the end of a geoprocessing job', () => {
    expect(json(JOB).events).toEqual([
      {
        changeType: 'esriJobSucceeded',
        when: new Date(1730385704000),
        webhook: { name: 'jobs' },
        service: { folderName: 'Planning', serviceName: 'Tools', serviceType: 'GPServer' },
        statusUrl: JOB.statusURL,
        jobId: 'jb2f',
        taskName: 'Buffer',
        raw: JOB.events[0],
      },
    ])
  })

  it('keeps the order of events, and lists each change type once', () => {
    const types = ['FeaturesUpdated', 'FeaturesCreated', 'FeaturesUpdated', 'Mine']
    const parsed = json({ ...FEATURES, events: types.map((eventType) => ({ eventType })) })
    expect(parsed.events.map((event) => event.changeType)).toEqual(types)
    expect(parsed.changeTypes).toEqual(['FeaturesUpdated', 'FeaturesCreated', 'Mine'])
  })
})

describe('the hosted dialect', () => {
  it('reads one item, and decodes a URL that is completely percent-encoded', () => {
    expect(json(HOSTED).events).toEqual([
      {
        changeType: 'FeaturesCreated',
        when: new Date(1629325549649),
        webhook: { name: 'webhookname' },
        service: { folderName: '', serviceName: 'myService', serviceType: 'FeatureServer' },
        layerId: 0,
        changesUrl:
          'https://olserver.example/myorgId/rest/services/myService/FeatureServer/extractChanges?serverGens=[21891591,25166741]&async=true',
        raw: HOSTED[0],
      },
    ])
  })

  it('reads several items with several events', () => {
    const items = [
      { ...HOSTED[0], layerId: 1, events: ['FeaturesCreated', 'FeaturesUpdated'] },
      { ...HOSTED[0], layerId: 2, events: ['FeaturesUpdated'] },
    ]
    const parsed = json(items)
    expect(parsed.events.map(({ layerId, changeType }) => [layerId, changeType])).toEqual([
      [1, 'FeaturesCreated'],
      [1, 'FeaturesUpdated'],
      [2, 'FeaturesUpdated'],
    ])
    expect(parsed.changeTypes).toEqual(['FeaturesCreated', 'FeaturesUpdated'])
  })

  it('reads older items with changeType instead of events', () => {
    const { events: _, ...item } = { ...HOSTED[0] }
    expect(json([{ ...item, changeType: 'FeaturesDeleted' }]).changeTypes).toEqual(['FeaturesDeleted'])
  })

  it('keeps invalid percent sequences unchanged', () => {
    const [event] = json([{ ...HOSTED[0], changesUrl: 'https%3a%2f%2fa.example%2f%AB%3fx%3d%zz' }]).events
    expect(event?.changesUrl).toBe('https://a.example/%AB?x=%zz')
  })
})

it('the organization dialect uses the operation as the change type', () => {
  const parsed = json(ORGANIZATION)
  expect(parsed.changeTypes).toEqual(['add', 'delete'])
  expect(parsed.events[0]).toEqual({
    changeType: 'add',
    when: new Date(1730385705000),
    webhook: { id: 'w1', name: 'items' },
    service: { folderName: '', serviceName: '', serviceType: '' },
    raw: ORGANIZATION.events[0],
  })
  expect(parsed.events[1]?.when).toEqual(new Date(1730385704000))
})

describe('finds change types in', () => {
  it.each<[string, unknown, string[]]>([
    [
      'changeTypes as an array',
      { changeTypes: ['FeaturesCreated', 'FeaturesDeleted'] },
      ['FeaturesCreated', 'FeaturesDeleted'],
    ],
    [
      'changeTypes with commas',
      { changeTypes: 'FeaturesCreated, FeaturesDeleted,' },
      ['FeaturesCreated', 'FeaturesDeleted'],
    ],
    ['changeTypes with duplicates', { changeTypes: 'A,B,A' }, ['A', 'B']],
    ['events[].eventType', { events: [{ eventType: 'A' }, { eventType: 'B' }] }, ['A', 'B']],
    ['events[] as texts', { events: ['A', 'B', 'A'] }, ['A', 'B']],
    ['events[].changeType', { events: [{ changeType: 'A' }] }, ['A']],
    ['changeType', { changeType: 'A' }, ['A']],
    // In this payload, `changeTypes` lists the change types that the webhook subscribes to, not the changes.
    ['events before changeTypes', { events: [{ eventType: 'A' }], changeTypes: ['A', 'B'] }, ['A']],
    [
      'names of object members',
      { changeTypes: ['__proto__', 'constructor', 'toString'] },
      ['__proto__', 'constructor', 'toString'],
    ],
  ])('%s', (_, payload, expected) => {
    expect(json(payload).changeTypes).toEqual(expected)
    expect(json([payload]).changeTypes).toEqual(expected)
  })
})

describe('a payload of unknown shape is still a delivery, with one event', () => {
  it.each<[string, unknown]>([
    ['an empty object', {}],
    ['an empty array', []],
    ['something else', { hello: 'world' }],
    ['events that are not a list', { events: 7 }],
    ['no events', { events: [] }],
    ['an event that is not an object', { events: [7] }],
    ['a change type that is not a string', { changeType: 7, changeTypes: 7, events: null }],
    ['null in an array', [null]],
    ['info without events', { info: {} }],
  ])('%s', (_, payload) => {
    const parsed = json(payload)
    expect(parsed.events.length).toBe(1)
    expect(parsed.events[0]?.changeType).toBe('')
    expect(parsed.changeTypes).toEqual([])
    expect(parsed.payload).toEqual(payload)
  })
})

describe('leaves out fields of a wrong type:', () => {
  it.each<[string, unknown]>([
    ['when as an object', { when: {} }],
    ['when as a string that is not a date', { when: 'room 12' }],
    ['when beyond the range of dates', { when: 9e15 }],
    ['when as a fraction', { when: 1.5 }],
    ['when as white space', { when: ' ' }],
    ['when in hex', { when: '0x10' }],
  ])('%s', (_, entry) => {
    const [event] = json({ events: [{ eventType: 'A', ...(entry as object) }] }).events
    expect(event).not.toHaveProperty('when')
  })

  it('names, ids and URLs', () => {
    const wrong = {
      name: [],
      id: {},
      serviceName: null,
      layerId: 'x',
      changesUrl: 7.5,
      jobId: true,
      taskName: '',
    }
    expect(json({ ...wrong, changeType: 'A' }).events[0]).toEqual({
      changeType: 'A',
      webhook: {},
      service: { folderName: '', serviceName: '', serviceType: '' },
      raw: { ...wrong, changeType: 'A' },
    })
  })

  it('but reads times written as text: milliseconds and ISO 8601', () => {
    const times = json({ events: [{ when: '1730385704000' }, { when: '2024-10-31T14:41:44Z' }] }).events
    expect(times.map((event) => event.when?.getTime())).toEqual([1730385704000, 1730385704000])
  })
})

describe('a job result has names of the job, which are empty if the payload lacks them,', () => {
  const JOB = { eventType: 'esriJobSucceeded' }
  it.each<[string, unknown, string, string]>([
    ['in the service dialect', { jobId: 'j1', taskName: 'Clip', events: [JOB] }, 'j1', 'Clip'],
    ['without names', { events: [JOB] }, '', ''],
    ['with names of a wrong type', { jobId: { a: 1 }, taskName: [], events: [JOB] }, '', ''],
    ['in an old payload', { changeType: 'esriJobFailed' }, '', ''],
    ['in the hosted dialect', [{ events: ['esriJobTimedOut'] }], '', ''],
    ['in the organization dialect', { info: {}, events: [{ operation: 'esriJobCancelled' }] }, '', ''],
  ])('%s', (_, payload, jobId, taskName) => {
    expect(json(payload).events).toMatchObject([{ jobId, taskName }])
  })

  it('but other events have no such members', () => {
    expect(json({ events: ['FeaturesCreated'] }).events[0]).not.toHaveProperty('jobId')
  })
})
