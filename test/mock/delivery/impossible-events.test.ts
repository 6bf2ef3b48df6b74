import type { MockEvent } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { create, seed } from '../support.ts'
import { CREATED, createAt, named, PLAIN, payloadOf, receive } from './support.ts'

/** A payload URL whose host is not allowed. The service records the attempt, but sends no request. */
const REFUSED = 'http://receiver.example/hook'

const of = (member: string): string => expect.stringContaining(`event.${member}`)

describe('refuses an impossible event, and sends nothing', () => {
  const cases: [string, Partial<MockEvent>, string][] = [
    ['the wildcard', { changeType: '*' }, 'changeType says what happened; * is for subscriptions'],
    ['an unknown service', { serviceName: 'Rivers' }, 'there is no service Rivers'],
    [
      'an unknown type',
      { serviceType: 'GPServer', serviceName: 'Roads' },
      'there is no service Roads.GPServer',
    ],
    ['an unknown folder', { folderName: 'Village' }, 'there is no service Village/Parcels'],
    ['a folder in the name', { serviceName: 'City/Parcels' }, 'there is no service City/Parcels'],
    ['a name that is a list', { serviceName: ['Parcels'] } as object, of('serviceName')],
    ['a name that is a symbol', { serviceName: Symbol('Parcels') } as object, of('serviceName')],
    ['a name without a string conversion', { serviceName: Object.create(null) }, of('serviceName')],
    ['no name', { serviceName: undefined } as object, of('serviceName')],
    ['a folder without a string conversion', { folderName: Object.create(null) }, of('folderName')],
    ['a type that is a list', { serviceType: ['FeatureServer'] } as object, of('serviceType')],
    ['a name that two types share', { serviceName: 'Both' }, 'serviceType is needed for Both'],
    ['an empty change type', { changeType: '' }, of('changeType')],
    ['a list as the change type', { changeType: ['FeaturesCreated'] } as object, of('changeType')],
    ['a change type that is too long', { changeType: 'a'.repeat(257) }, of('changeType')],
    ['white space around it', { changeType: ' FeaturesCreated' }, expect.stringMatching(/^changeType/)],
    ['an invalid time', { when: Number.NaN }, of('when')],
    ['a time with a fraction', { when: 0.5 }, of('when')],
    ['no layers', { layerIds: [] }, of('layerIds')],
    ['an invalid layer', { layerIds: [-1] }, of('layerIds')],
    ['an empty job id', { jobId: '' }, of('jobId')],
    ['a misspelled member', { layers: [1] } as object, expect.stringMatching(/^event/)],
  ]
  it.each(cases)('%s', async (_, event, message) => {
    const service = create(
      named(REFUSED, {
        parcels: {},
        city: { folderName: 'City' },
        roads: { serviceName: 'Roads' },
        both: { serviceName: 'Both' },
        jobs: { serviceName: 'Both', serviceType: 'GPServer' },
      }),
    )
    // A valid event in the same call is not sent either.
    const triggered = service.trigger([CREATED, { ...CREATED, ...event }])
    await expect(triggered).rejects.toMatchObject({ code: 'config_invalid', message })
    expect(service.deliveries).toEqual([])
  })

  const withMembers = <T>(value: T): T => Object.assign(value as object, CREATED) as T
  it.each([
    ['null', null],
    ['undefined', undefined],
    ['a number', 5],
    ['a text', 'FeaturesCreated'],
    ['an empty list in a list', [[]]],
    ['null behind an event', [CREATED, null]],
    ['a hole before an event', Object.assign([], { 1: CREATED })],
    ['a list with the members of an event', [withMembers([])]],
    ['a function with the members of an event', withMembers(() => {})],
    ['an event that inherits an invalid time', Object.assign(Object.create({ when: -5 }), CREATED)],
    ['an event that inherits invalid layers', Object.assign(Object.create({ layerIds: 5 }), CREATED)],
    ['an event that inherits a misspelled member', Object.assign(Object.create({ layers: [1] }), CREATED)],
    ['a layer list that is not listed', Object.defineProperty({ ...CREATED }, 'layerIds', { value: [] })],
    [
      'a class that computes a time',
      withMembers(
        new (class {
          get when() {
            return 'now'
          }
        })(),
      ),
    ],
  ])('refuses %s as an event', async (_, event) => {
    const service = create([PLAIN])
    await expect(service.trigger(event as never)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/^event/),
    })
    expect(service.deliveries).toEqual([])
  })

  it('accepts getters and non-enumerable members', async () => {
    const { url, requests } = await receive()
    const hidden = Object.defineProperty({ ...CREATED }, 'when', { value: 7 })
    await create([seed(PLAIN, { hookUrl: url })]).trigger(hidden)
    expect(payloadOf(requests[0]!).events).toMatchObject([{ when: 7 }])
  })

  it('accepts a change type of 256 characters', async () => {
    const attempts = await create(named(REFUSED, { all: {} })).trigger({
      ...CREATED,
      changeType: 'a'.repeat(256),
    })
    expect(attempts).toHaveLength(1)
  })

  it.each(['11.1', '11.2'] as const)(
    'refuses PostPerformed in version %s, and accepts it in 11.3',
    async (version) => {
      const posted = { ...CREATED, changeType: 'PostPerformed' }
      await expect(create([PLAIN], { version }).trigger(posted)).rejects.toMatchObject({
        code: 'config_invalid',
        message: `PostPerformed comes with version 11.3; this service has ${version}`,
      })
      expect(await create([PLAIN], { version: '11.3' }).trigger(posted)).toHaveLength(1)
    },
  )

  it('an invalid event does not affect an open window of valid events', async () => {
    const { url, requests } = await receive()
    const { service, clock } = createAt([seed(PLAIN, { hookUrl: url })], {
      like: { window: { webhooks: 'all' } },
    })
    const good = service.trigger(CREATED)
    await expect(service.trigger({ ...CREATED, changeType: 'SomethingNew ' })).rejects.toThrow()
    await clock.advance(20_000)
    expect(await good).toHaveLength(1)
    expect(requests).toHaveLength(1)
  })
})
