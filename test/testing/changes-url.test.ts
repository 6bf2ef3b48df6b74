import { createPayload, type PayloadDetails } from 'geohook/testing'
import { describe, expect, it } from 'vitest'

describe('changesUrl', () => {
  const urlOf = (details: PayloadDetails): unknown => {
    const payload = createPayload('FeaturesCreated', { serverGens: [7, 9], ...details })
    return [payload].flat()[0]?.changesUrl
  }
  const service = 'https://server.example/server/rest/services/Parcels/FeatureServer/extractChanges'
  const hosted = 'https://olserver.example/myorgId/rest/services/Parcels/FeatureServer/extractChanges'
  const wholePath = 'services%2fParcels%2fFeatureServer%2fextractChanges%3fserverGens%3d%5b7%2c9%5d'

  it.each<[string, PayloadDetails, string]>([
    ['service, partially encoded by default', {}, `${service}?serverGens=%5B7,9%5D`],
    ['service, partially encoded', { changesUrl: 'partial' }, `${service}?serverGens=%5B7,9%5D`],
    [
      'service, completely encoded',
      { changesUrl: 'whole' },
      `https%3a%2f%2fserver.example%2fserver%2frest%2f${wholePath}`,
    ],
    ['service, not encoded', { changesUrl: 'none' }, `${service}?serverGens=[7,9]`],
    [
      'hosted, completely encoded by default',
      { dialect: 'hosted' },
      `https%3a%2f%2folserver.example%2fmyorgId%2frest%2f${wholePath}%26async%3dtrue`,
    ],
    [
      'hosted, partially encoded',
      { dialect: 'hosted', changesUrl: 'partial' },
      `${hosted}?serverGens=%5B7,9%5D&async=true`,
    ],
    [
      'hosted, not encoded',
      { dialect: 'hosted', changesUrl: 'none' },
      `${hosted}?serverGens=[7,9]&async=true`,
    ],
    ['the default generations', { serverGens: undefined }, `${service}?serverGens=%5B1,2%5D`],
    [
      'another server with a trailing slash, and a folder',
      { serverUrl: 'http://127.0.0.1:6080/rest/', folderName: 'City', changesUrl: 'none' },
      'http://127.0.0.1:6080/rest/services/City/Parcels/FeatureServer/extractChanges?serverGens=[7,9]',
    ],
    [
      'another server, hosted, without the organization',
      { dialect: 'hosted', serverUrl: 'http://127.0.0.1:6080/rest', changesUrl: 'none' },
      'http://127.0.0.1:6080/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[7,9]&async=true',
    ],
    ['url, unchanged', { url: 'x:%AB [1]', changesUrl: 'whole', serverUrl: 'http://a' }, 'x:%AB [1]'],
    ['url, unchanged, hosted', { dialect: 'hosted', url: 'x:%AB [1]' }, 'x:%AB [1]'],
  ])('%s', (_, details, expected) => {
    expect(urlOf(details)).toBe(expected)
  })

  it('is replaced by statusURL in job payloads', () => {
    const { statusURL, changesUrl } = createPayload('esriJobFailed', { serverUrl: 'http://a.example/rest' })
    expect([statusURL, changesUrl]).toEqual([
      'http://a.example/rest/services/Analysis/GPServer/Task/jobs/j0',
      undefined,
    ])
  })
})
