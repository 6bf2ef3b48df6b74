import { parsePayload } from 'geohook'
import { createPayload, type Dialect, type PayloadDetails } from 'geohook/testing'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { JSON_TYPE } from '../helpers/deliver.ts'

describe('createPayload chooses the service', () => {
  it.each<[string, string | string[], PayloadDetails<'service'>, object]>([
    [
      'a feature service by default',
      'FeaturesCreated',
      {},
      { serviceName: 'Parcels', serviceType: 'FeatureServer' },
    ],
    [
      'a feature service for other change types',
      'Renamed',
      {},
      { serviceName: 'Parcels', serviceType: 'FeatureServer' },
    ],
    [
      'a job by its change type',
      'esriJobSucceeded',
      {},
      { serviceName: 'Analysis', serviceType: 'GPServer' },
    ],
    ['a job by its service type', 'Ended', { serviceType: 'GPServer' }, { serviceType: 'GPServer' }],
    [
      'an explicit service type',
      'esriJobFailed',
      { serviceType: 'FeatureServer' },
      { serviceType: 'FeatureServer' },
    ],
    [
      'a feature service for several change types',
      ['FeaturesCreated', 'FeaturesDeleted'],
      {},
      { serviceType: 'FeatureServer' },
    ],
  ])('%s', (_, changeTypes, details, service) => {
    const before = Date.now()
    const payload = createPayload(changeTypes, details)
    const parsed = parsePayload({ body: JSON.stringify(payload), contentType: JSON_TYPE })
    if (!parsed.ok) throw new Error(parsed.message)
    expect(parsed.changeTypes).toEqual([changeTypes].flat())
    for (const event of parsed.events) {
      expect(event.service).toMatchObject(service)
      expect(event.when?.getTime()).toBeGreaterThanOrEqual(before)
    }
  })

  it.each<Dialect>(['hosted', 'organization'])('%s: the current time by default', (dialect) => {
    const before = Date.now()
    const parsed = parsePayload({
      body: JSON.stringify(createPayload('FeaturesCreated', { dialect })),
      contentType: JSON_TYPE,
    })
    if (!parsed.ok) throw new Error(parsed.message)
    expect(parsed.events[0]?.when?.getTime()).toBeGreaterThanOrEqual(before)
  })

  it('returns the type of the dialect', () => {
    const dialect = 'hosted' as Dialect
    expectTypeOf(createPayload('A')).toEqualTypeOf<Record<string, unknown>>()
    expectTypeOf(createPayload('A', { name: 'n' })).toEqualTypeOf<Record<string, unknown>>()
    expectTypeOf(createPayload('A', { dialect: 'hosted' })).toEqualTypeOf<Record<string, unknown>[]>()
    expectTypeOf(createPayload('A', { dialect: 'organization' })).toEqualTypeOf<Record<string, unknown>>()
    expectTypeOf(createPayload('A', { dialect })).toEqualTypeOf<
      Record<string, unknown> | Record<string, unknown>[]
    >()
    // @ts-expect-error: no such dialect
    expect(() => createPayload('A', { dialect: 'portal' })).toThrow()
  })
})
