import { arcgis, createReceiver, type Delivery, parsePayload, service, type WebhookEvent } from 'geohook'
import { createPayload, createSigner, type PayloadEvents, type SignerOptions } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY } from '../helpers/deliver.ts'

/** Every character that means something in a form, in JSON or in percent-encoding. */
const NAME = 'a&b=c+d %41 %zz "q" \\ ü 東 😀 {[;'
const WHEN = 1730385704000

type Read = Omit<WebhookEvent, 'raw'>

const events: PayloadEvents = [
  { changeType: 'FeaturesCreated', when: WHEN - 2000 },
  'FeaturesUpdated',
  { changeType: 'FeaturesCreated', when: WHEN - 1000 },
]
const details = { name: NAME, when: WHEN, serverGens: [7, 9], folderName: 'City' } as const
const parcels = { serviceName: 'Parcels', serviceType: 'FeatureServer' }
const PARCELS = 'services/City/Parcels/FeatureServer/extractChanges'

const inService = (changesUrl: string): Read[] =>
  [
    ['FeaturesCreated', WHEN - 2000] as const,
    ['FeaturesUpdated', WHEN] as const,
    ['FeaturesCreated', WHEN - 1000] as const,
  ].map(([changeType, when]) => ({
    changeType,
    when: new Date(when),
    webhook: { id: 'w1', name: NAME },
    service: { folderName: 'City', ...parcels },
    changesUrl: `https://server.example/server/rest/${PARCELS}?serverGens=${changesUrl}`,
  }))

const inHosted = (changesUrl: string): Read[] =>
  [3, 0].flatMap((layerId) =>
    ['FeaturesCreated', 'FeaturesUpdated'].map((changeType) => ({
      changeType,
      when: new Date(WHEN),
      webhook: { name: NAME },
      service: { folderName: '', ...parcels },
      layerId,
      changesUrl: `https://olserver.example/o1/rest/${PARCELS}?serverGens=${changesUrl}&async=true`,
    })),
  )

const hosted = { ...details, dialect: 'hosted', orgId: 'o1', layerIds: [3, 0] } as const

/** What is sent, and what the package must make of it. */
const PAYLOADS: Record<string, { payload: object; read: Read[] }> = {
  service: { payload: createPayload(events, { ...details, id: 'w1' }), read: inService('%5B7,9%5D') },
  'service, URL whole': {
    payload: createPayload(events, { ...details, id: 'w1', changesUrl: 'whole' }),
    read: inService('[7,9]'),
  },
  'service, URL plain': {
    payload: createPayload(events, { ...details, id: 'w1', changesUrl: 'none' }),
    read: inService('[7,9]'),
  },
  job: {
    payload: createPayload('esriJobTimedOut', { ...details, jobId: 'j1', taskName: 'Zones' }),
    read: [
      {
        changeType: 'esriJobTimedOut',
        when: new Date(WHEN),
        webhook: { name: NAME },
        service: { folderName: 'City', serviceName: 'Analysis', serviceType: 'GPServer' },
        statusUrl: 'https://server.example/server/rest/services/City/Analysis/GPServer/Zones/jobs/j1',
        jobId: 'j1',
        taskName: 'Zones',
      },
    ],
  },
  hosted: { payload: createPayload(events, hosted), read: inHosted('[7,9]') },
  'hosted, URL in part': {
    payload: createPayload(events, { ...hosted, changesUrl: 'partial' }),
    read: inHosted('%5B7,9%5D'),
  },
  'hosted, URL plain': {
    payload: createPayload(events, { ...hosted, changesUrl: 'none' }),
    read: inHosted('[7,9]'),
  },
  organization: {
    payload: createPayload(['add', { changeType: 'share', when: WHEN - 1000 }], {
      ...details,
      dialect: 'organization',
      id: 'w1',
    }),
    read: [['add', WHEN] as const, ['share', WHEN - 1000] as const].map(([changeType, when]) => ({
      changeType,
      when: new Date(when),
      webhook: { id: 'w1', name: NAME },
      service: { folderName: '', serviceName: '', serviceType: '' },
    })),
  },
}

type Sending = Omit<SignerOptions, 'signatureKey' | 'signatureHeader'>

/** Every way to write a body, with every way to write its signature. */
const bodies: Sending[] = (['json', 'pjson'] as const).flatMap((payloadFormat) => [
  { contentType: JSON_TYPE, payloadFormat },
  ...(['encoded', 'plain'] as const).flatMap((formPayload) =>
    (['header', 'field'] as const).map((signatureIn) => ({
      contentType: FORM_TYPE as 'application/x-www-form-urlencoded',
      payloadFormat,
      formPayload,
      signatureIn,
    })),
  ),
]) as Sending[]
const sendings = bodies.flatMap((body) =>
  (['hex', 'base64'] as const).flatMap((encoding) =>
    ['', 'sha256='].flatMap((prefix) =>
      [false, true].map((percentEncoded) => ({ ...body, encoding, prefix, percentEncoded })),
    ),
  ),
)

const titleOf = (options: object): string => Object.values(options).map(String).join(' ')

describe.each([service, arcgis])('a receiver for $name', (profile) => {
  const { signatureHeader } = profile

  async function post(request: RequestInit, signatureKey = KEY) {
    const handled: [WebhookEvent, Delivery][] = []
    const receiver = createReceiver({ signatureKey, profile, observer: { refused() {} } }).on(
      '*',
      (event, delivery) => {
        handled.push([event, delivery])
      },
    )
    const { status } = await receiver.fetch(new Request('http://receiver.example/hook', request))
    return { status, handled }
  }

  describe.each(Object.entries(PAYLOADS))('reads %s', (_, { payload, read }) => {
    it.each(sendings.map((options) => [titleOf(options), options] as const))('%s', async (_, options) => {
      const request = await createSigner({ signatureKey: KEY, signatureHeader, ...options }).sign(payload)
      const { status, handled } = await post(request)
      expect(status).toBe(200)
      expect(handled.map(([{ raw, ...event }]) => event)).toEqual(read)
      expect(handled[0]?.[1].payload).toEqual(payload)
      const { contentType } = options
      expect(parsePayload({ body: request.body, contentType, profile })).toMatchObject({
        ok: true,
        payload,
        changeTypes: [...new Set(read.map(({ changeType }) => changeType))],
        events: read,
      })
      // The signature is looked at: another key, and another digit in the payload, are refused.
      expect(await post(request, 'other')).toEqual({ status: 401, handled: [] })
      const forged = Buffer.from(request.body)
      const digit = forged.indexOf(String(WHEN).slice(-4))
      forged[digit] = (forged[digit] as number) ^ 1
      expect(await post({ ...request, body: forged })).toEqual({ status: 401, handled: [] })
    })
  })
})

it('every combination is among them, once', () => {
  expect(new Set(sendings.map(titleOf)).size).toBe(80)
  expect(sendings.length).toBe(80)
})
