import { createPayload, type PayloadDetails, type PayloadEvents } from 'geohook/testing'
import { describe, expect, it } from 'vitest'

/** Sample payloads of the dialects, byte for byte (docs/senders.md, "Payloads"). */
const FEATURES =
  '{"serviceType":"FeatureServer","changesUrl":"https://server.example/server/rest/services/Parcels/FeatureServer/extractChanges?serverGens=%5B1730385704442,1730385704443%5D","name":"Parcel edits","id":"c4a7db24-0c5e-4a00-9103-0c7d2fdc03b4","folderName":"","serviceName":"Parcels","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}'
const HOSTED =
  '[{"name":"webhookname","layerId":0,"orgId":"myorgId","serviceName":"myService","lastUpdatedTime":1629325549649,"changesUrl":"https%3a%2f%2folserver.example%2fmyorgId%2frest%2fservices%2fmyService%2fFeatureServer%2fextractChanges%3fserverGens%3d%5b21891591%2c25166741%5d%26async%3dtrue","events":["FeaturesCreated"]}]'

const json = (changeTypes: PayloadEvents, details: PayloadDetails): string =>
  JSON.stringify(createPayload(changeTypes, details))

describe('the service dialect', () => {
  it('equals the sample, byte for byte', () => {
    const details = {
      serverGens: [1730385704442, 1730385704443],
      name: 'Parcel edits',
      id: 'c4a7db24-0c5e-4a00-9103-0c7d2fdc03b4',
      when: 1730385704000,
    } as const
    expect(json('FeaturesCreated', details)).toBe(FEATURES)
    expect(json('FeaturesCreated', { ...details, dialect: 'service' })).toBe(FEATURES)
  })

  it('has the fields of a feature service, in order', () => {
    const payload = createPayload('FeaturesCreated', {
      serviceName: 'Roads',
      folderName: 'City',
      name: 'road edits',
      id: 'w1',
      when: 1730385704000,
      url: 'https://server.example/changes',
    })
    expect(JSON.stringify(payload)).toBe(
      '{"serviceType":"FeatureServer","changesUrl":"https://server.example/changes","name":"road edits","id":"w1",' +
        '"folderName":"City","serviceName":"Roads","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}',
    )
  })

  it('has the fields of a geoprocessing service, in order, without the id of the webhook', () => {
    const payload = createPayload('esriJobFailed', {
      serviceName: 'Buffer',
      name: 'jobs',
      id: 'w1',
      when: 1730385704000,
      jobId: 'j42',
      taskName: 'Zones',
    })
    expect(JSON.stringify(payload)).toBe(
      '{"serviceType":"GPServer","jobId":"j42",' +
        '"statusURL":"https://server.example/server/rest/services/Buffer/GPServer/Zones/jobs/j42",' +
        '"name":"jobs","taskName":"Zones","folderName":"","serviceName":"Buffer",' +
        '"events":[{"eventType":"esriJobFailed","when":1730385704000}]}',
    )
  })

  it('contains several events, each with its own time or that of the details', () => {
    const changeTypes = [
      'FeaturesCreated',
      { changeType: 'FeaturesUpdated', when: 2000 },
      { changeType: 'FeaturesCreated' },
      { changeType: 'FeaturesCreated', when: 0 },
    ]
    expect(createPayload(changeTypes, { when: 1000 }).events).toEqual([
      { eventType: 'FeaturesCreated', when: 1000 },
      { eventType: 'FeaturesUpdated', when: 2000 },
      { eventType: 'FeaturesCreated', when: 1000 },
      { eventType: 'FeaturesCreated', when: 0 },
    ])
    expect(createPayload({ changeType: 'Mine', when: 5 }).events).toEqual([{ eventType: 'Mine', when: 5 }])
  })
})

describe('the hosted dialect', () => {
  const sample = {
    dialect: 'hosted',
    name: 'webhookname',
    serviceName: 'myService',
    when: 1629325549649,
    serverGens: [21891591, 25166741],
  } as const

  it('equals the sample, byte for byte', () => {
    expect(json('FeaturesCreated', sample)).toBe(HOSTED)
  })

  it('has one item for each layer, in the given order', () => {
    const payload = createPayload('FeaturesCreated', { ...sample, layerIds: [3, 0] })
    expect(JSON.stringify(payload)).toBe(
      `[${HOSTED.slice(1, -1).replace('"layerId":0', '"layerId":3')},${HOSTED.slice(1, -1)}]`,
    )
  })

  it('lists each change type once, in order, and has the time of the newest event', () => {
    const changeTypes = [
      { changeType: 'FeaturesUpdated', when: 30 },
      { changeType: 'FeaturesCreated', when: 40 },
      { changeType: 'FeaturesUpdated', when: 20 },
    ]
    const [item, ...more] = createPayload(changeTypes, { dialect: 'hosted', when: 50 })
    expect(more).toEqual([])
    expect(item).toMatchObject({ events: ['FeaturesUpdated', 'FeaturesCreated'], lastUpdatedTime: 40 })
  })

  it('has the organization in the payload and in the URL', () => {
    const [item] = createPayload('FeaturesCreated', { dialect: 'hosted', orgId: 'o1', changesUrl: 'none' })
    expect(item).toMatchObject({ orgId: 'o1' })
    expect(item?.changesUrl).toMatch('https://olserver.example/o1/rest/services/Parcels/FeatureServer/')
  })
})

describe('the organization dialect', () => {
  it('has the documented members, in order', () => {
    const payload = createPayload(['add', { changeType: 'share', when: 1730385705000 }], {
      dialect: 'organization',
      name: 'items',
      id: 'w1',
      when: 1730385704000,
      portalUrl: 'https://gis.example/portal/',
      username: 'kim',
      userId: 'u1',
      source: 'group',
      itemId: 'i1',
    })
    expect(JSON.stringify(payload)).toBe(
      '{"info":{"webhookName":"items","webhookId":"w1","portalURL":"https://gis.example/portal/","when":1730385705000},"events":[' +
        '{"username":"kim","userId":"u1","when":1730385704000,"operation":"add","source":"group","id":"i1","properties":{}},' +
        '{"username":"kim","userId":"u1","when":1730385705000,"operation":"share","source":"group","id":"i1","properties":{}}]}',
    )
  })

  it('has the time of the details if that is after all events', () => {
    const { info } = createPayload({ changeType: 'add', when: 1000 }, { dialect: 'organization', when: 3000 })
    expect(info).toMatchObject({ when: 3000 })
  })

  it('has a default for every detail', () => {
    const id = '00000000000000000000000000000000'
    expect(createPayload('update', { dialect: 'organization', when: 1 })).toEqual({
      info: {
        webhookName: 'webhook',
        webhookId: id,
        portalURL: 'https://portal.example/portal/',
        when: 1,
      },
      events: [
        { username: 'admin', userId: id, when: 1, operation: 'update', source: 'item', id, properties: {} },
      ],
    })
  })
})
