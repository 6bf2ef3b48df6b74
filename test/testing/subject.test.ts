import { parsePayload } from 'geohook'
import { createPayload, type Dialect, type PayloadDetails } from 'geohook/testing'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { JSON_TYPE } from '../helpers/deliver.ts'

describe('what the payload is about', () => {
  it.each<[string, string | string[], PayloadDetails<'service'>, object]>([
    [
      'a feature service by default',
      'FeaturesCreated',
      {},
      { serviceName: 'Parcels', serviceType: 'FeatureServer' },
    ],
    ['a change type of its own', 'Renamed', {}, { serviceName: 'Parcels', serviceType: 'FeatureServer' }],
    [
      'a job by its change type',
      'esriJobSucceeded',
      {},
      { serviceName: 'Analysis', serviceType: 'GPServer' },
    ],
    ['a job by its service type', 'Ended', { serviceType: 'GPServer' }, { serviceType: 'GPServer' }],
    [
      'the service type that is given',
      'esriJobFailed',
      { serviceType: 'FeatureServer' },
      { serviceType: 'FeatureServer' },
    ],
    ['several', ['FeaturesCreated', 'FeaturesDeleted'], {}, { serviceType: 'FeatureServer' }],
  ])('%s, as the package reads it', (_, changeTypes, details, service) => {
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

  it.each<Dialect>(['hosted', 'organization'])('%s: now, unless told otherwise', (dialect) => {
    const before = Date.now()
    const parsed = parsePayload({
      body: JSON.stringify(createPayload('FeaturesCreated', { dialect })),
      contentType: JSON_TYPE,
    })
    if (!parsed.ok) throw new Error(parsed.message)
    expect(parsed.events[0]?.when?.getTime()).toBeGreaterThanOrEqual(before)
  })

  it('its type follows the dialect', () => {
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
