import { arcgis, createReceiver, type Delivery, parsePayload, service, type WebhookEvent } from 'geohook'
import { createPayload, createSigner, type PayloadEvents, type SignerOptions } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY } from '../helpers/deliver.ts'

/** A name with characters that have a special meaning in forms, JSON or percent-encoding. */
const NAME = 'a&b=c+d %41 %zz "q" \\ ü 東 😀 {[;'
const WHEN = 1730385704000

type ExpectedEvent = Omit<WebhookEvent, 'raw'>

const events: PayloadEvents = [
  { changeType: 'FeaturesCreated', when: WHEN - 2000 },
  'FeaturesUpdated',
  { changeType: 'FeaturesCreated', when: WHEN - 1000 },
]
const details = { name: NAME, when: WHEN, serverGens: [7, 9], folderName: 'City' } as const
const parcels = { serviceName: 'Parcels', serviceType: 'FeatureServer' }
const PARCELS = 'services/City/Parcels/FeatureServer/extractChanges'

const inService = (changesUrl: string): ExpectedEvent[] =>
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

const inHosted = (changesUrl: string): ExpectedEvent[] =>
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

/** Payloads, with the events that a receiver must read from them. */
const PAYLOADS: Record<string, { payload: object; expected: ExpectedEvent[] }> = {
  service: { payload: createPayload(events, { ...details, id: 'w1' }), expected: inService('%5B7,9%5D') },
  'service, URL completely encoded': {
    payload: createPayload(events, { ...details, id: 'w1', changesUrl: 'whole' }),
    expected: inService('[7,9]'),
  },
  'service, URL not encoded': {
    payload: createPayload(events, { ...details, id: 'w1', changesUrl: 'none' }),
    expected: inService('[7,9]'),
  },
  job: {
    payload: createPayload('esriJobTimedOut', { ...details, jobId: 'j1', taskName: 'Zones' }),
    expected: [
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
  hosted: { payload: createPayload(events, hosted), expected: inHosted('[7,9]') },
  'hosted, URL partially encoded': {
    payload: createPayload(events, { ...hosted, changesUrl: 'partial' }),
    expected: inHosted('%5B7,9%5D'),
  },
  'hosted, URL not encoded': {
    payload: createPayload(events, { ...hosted, changesUrl: 'none' }),
    expected: inHosted('[7,9]'),
  },
  organization: {
    payload: createPayload(['add', { changeType: 'share', when: WHEN - 1000 }], {
      ...details,
      dialect: 'organization',
      id: 'w1',
    }),
    expected: [['add', WHEN] as const, ['share', WHEN - 1000] as const].map(([changeType, when]) => ({
      changeType,
      when: new Date(when),
      webhook: { id: 'w1', name: NAME },
      service: { folderName: '', serviceName: '', serviceType: '' },
    })),
  },
}

type Sending = Omit<SignerOptions, 'signatureKey' | 'signatureHeader'>

/** Every combination of body format and signature location. */
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

interface Case {
  name: string
  profile: typeof service
  options: Sending
}

/**
 * Two cases for every payload and body, with opposite values of the four two-valued settings, so that each payload and
 * body is tested with both values of every setting. The first cases alone cover all 16 combinations of the settings.
 */
const cases: Case[] = Object.keys(PAYLOADS).flatMap((name, i) =>
  bodies.flatMap((body, j) =>
    [0, 15].map((inverted) => {
      const bits = ((i * bodies.length + j * 3) % 16) ^ inverted
      const pick = <T>(bit: number, ...values: [T, T]): T => values[(bits >> bit) & 1] as T
      return {
        name,
        profile: pick(0, service, arcgis),
        options: {
          ...body,
          encoding: pick(1, 'hex' as const, 'base64' as const),
          prefix: pick(2, '', 'sha256='),
          percentEncoded: pick(3, false, true),
        },
      }
    }),
  ),
)

const titleOf = ({ name, profile, options }: Case): string =>
  [name, profile.name, ...Object.values(options)].join(' ')

describe('a receiver reads', () => {
  async function post(request: RequestInit, profile: Case['profile'], signatureKey = KEY) {
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

  it.each(cases.map((item) => [titleOf(item), item] as const))(
    '%s',
    async (_, { name, profile, options }) => {
      const { payload, expected } = PAYLOADS[name] as (typeof PAYLOADS)[string]
      const { signatureHeader } = profile
      const request = await createSigner({ signatureKey: KEY, signatureHeader, ...options }).sign(payload)
      const { status, handled } = await post(request, profile)
      expect(status).toBe(200)
      expect(handled.map(([{ raw, ...event }]) => event)).toEqual(expected)
      expect(handled[0]?.[1].payload).toEqual(payload)
      const { contentType } = options
      expect(parsePayload({ body: request.body, contentType, profile })).toMatchObject({
        ok: true,
        payload,
        changeTypes: [...new Set(expected.map(({ changeType }) => changeType))],
        events: expected,
      })
      // The signature is verified: another key or a changed payload is rejected.
      expect(await post(request, profile, 'other')).toEqual({ status: 401, handled: [] })
      const forged = Buffer.from(request.body)
      const digit = forged.indexOf(String(WHEN).slice(-4))
      forged[digit] = (forged[digit] as number) ^ 1
      expect(await post({ ...request, body: forged }, profile)).toEqual({ status: 401, handled: [] })
    },
  )
})

it('the cases cover every pair of settings', () => {
  const rows = cases.map(({ name, profile, options: { encoding, prefix, percentEncoded, ...body } }) => [
    name,
    profile.name,
    encoding,
    prefix,
    percentEncoded,
    JSON.stringify(body),
  ])
  const counts = [8, 2, 2, 2, 2, 10]
  for (const [i, first] of counts.entries())
    for (const [j, second] of counts.entries())
      if (i < j) expect(new Set(rows.map((row) => `${row[i]} ${row[j]}`)).size).toBe(first * second)
  expect(new Set(cases.map(titleOf)).size).toBe(160)
})
