import { arcgis, createReceiver, parsePayload, type WebhookEvent } from 'geohook'
import type { MockServiceOptions, ProductOptions, Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { base64Of, FORM_TYPE, KEY, signatureOf } from '../../helpers/deliver.ts'
import { type Captured, create, FEATURE, JOB, seed } from '../support.ts'
import { CREATED, createAt, NOW, named, PLAIN, payloadOf, receive } from './support.ts'

/** Triggers an event for one webhook, and returns the requests that the service sends. */
async function sentBy(
  options: MockServiceOptions,
  event: object = CREATED,
  webhook: Webhook = PLAIN,
): Promise<Captured[]> {
  const { url, requests } = await receive()
  const { service } = createAt([seed(webhook, { hookUrl: url })], options)
  await service.trigger(event as typeof CREATED)
  return requests
}

/** Returns the payload as text, because the order of members matters. Replaces the generations, which vary. */
const textOf = ({ body }: Captured): string =>
  body.toString().replaceAll(/(?<=\[|%5B|%5b)\d+(,|%2C|%2c)\d+(?=\]|%5D|%5d)/g, 'FROM$1TO')

describe('payloads have the members of the samples (docs/senders.md, "Payloads")', () => {
  it('service dialect, feature service', async () => {
    const [request] = await sentBy({}, { ...CREATED, when: 1730385704000 })
    expect(textOf(request!)).toBe(
      '{"serviceType":"FeatureServer","changesUrl":"https://server.example/server/rest/services/Parcels/FeatureServer/' +
        `extractChanges?serverGens=%5BFROM,TO%5D","name":"parcel edits","id":"${FEATURE.id}","folderName":"",` +
        '"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}',
    )
  })

  it('service dialect, geoprocessing: without the id of the webhook', async () => {
    const done = { serviceName: 'Buffer', changeType: 'esriJobFailed', jobId: 'j1', when: 5 }
    const [request] = await sentBy({}, done, { ...JOB, folderName: '' })
    expect(textOf(request!)).toBe(
      '{"serviceType":"GPServer","jobId":"j1","statusURL":"https://server.example/server/rest/services/Buffer/GPServer/' +
        'Task/jobs/j1","name":"jobs done","taskName":"Task","folderName":"","serviceName":"Buffer",' +
        '"events":[{"eventType":"esriJobFailed","when":5}]}',
    )
  })

  it('hosted dialect', async () => {
    const [request] = await sentBy({ like: { dialect: 'hosted' } }, { ...CREATED, when: 1629325549649 })
    expect(textOf(request!)).toBe(
      '[{"name":"parcel edits","layerId":0,"orgId":"myorgId","serviceName":"Parcels","lastUpdatedTime":1629325549649,' +
        '"changesUrl":"https%3a%2f%2folserver.example%2fmyorgId%2frest%2fservices%2fParcels%2fFeatureServer%2f' +
        'extractChanges%3fserverGens%3d%5bFROM%2cTO%5d%26async%3dtrue","events":["FeaturesCreated"]}]',
    )
  })

  it('organization dialect', async () => {
    const [request] = await sentBy(
      { like: { dialect: 'organization' } },
      { ...CREATED, changeType: 'add', when: 7 },
    )
    const zeros = '0'.repeat(32)
    expect(textOf(request!)).toBe(
      `{"info":{"webhookName":"parcel edits","webhookId":"${FEATURE.id}","portalURL":"https://portal.example/portal/",` +
        `"when":7},"events":[{"username":"admin","userId":"${zeros}","when":7,"operation":"add","source":"item",` +
        `"id":"${zeros}","properties":{}}]}`,
    )
  })

  it('hosted dialect: jobs use the service dialect, because hosted services run none', async () => {
    const done = { serviceName: 'Buffer', changeType: 'esriJobSucceeded' }
    const [request] = await sentBy({ like: { dialect: 'hosted' } }, done, JOB)
    expect(payloadOf(request!)).toMatchObject({ serviceType: 'GPServer', taskName: 'Task' })
    expect(request?.headers['x-esrihook-signature']).toBe(`sha256=${base64Of(request!.body)}`)
  })
})

describe('changesUrl is encoded as configured', () => {
  it.each(['service', 'hosted'] as const)('%s', async (dialect) => {
    const urlOf = async (changesUrl?: 'partial' | 'whole' | 'none'): Promise<string> => {
      const [request] = await sentBy({ like: { dialect, changesUrl } })
      const payload = payloadOf<{ changesUrl: string } | [{ changesUrl: string }]>(request!)
      return (Array.isArray(payload) ? payload[0] : payload).changesUrl
    }
    const shapes = {
      partial: /^https:\/\/[^%]+\/extractChanges\?serverGens=%5B\d+,\d+%5D/,
      whole: /^https%3a%2f%2f[^:/?=&,[\]]+extractChanges%3fserverGens%3d%5b\d+%2c\d+%5d/,
      none: /^https:\/\/[^%]+\/extractChanges\?serverGens=\[\d+,\d+\]/,
    }
    expect(await urlOf('partial')).toMatch(shapes.partial)
    expect(await urlOf('whole')).toMatch(shapes.whole)
    expect(await urlOf('none')).toMatch(shapes.none)
    expect(await urlOf()).toMatch(dialect === 'hosted' ? shapes.whole : shapes.partial)
  })
})

describe('the generations of changes', () => {
  it('grow with every delivery of the service, but not with deliveries of other services', async () => {
    const { url, requests } = await receive()
    const { service } = createAt(named(url, { parcels: {}, roads: { serviceName: 'Roads' } }))
    for (const serviceName of ['Parcels', 'Parcels', 'Roads', 'Parcels'])
      await service.trigger({ ...CREATED, serviceName })
    const generations = requests.map((request) => {
      const [, from, to] = /serverGens=%5B(\d+),(\d+)%5D/.exec(payloadOf(request).changesUrl) ?? []
      return [Number(from) - NOW, Number(to) - NOW]
    })
    expect(generations).toEqual([
      [0, 1],
      [1, 2],
      [0, 1],
      [2, 3],
    ])
  })
})

describe('an event on several layers', () => {
  const layerIds = [4, 0, 2, 1, 3]
  const onLayers = { ...CREATED, layerIds }

  it.each(['service', 'hosted', 'organization'] as const)(
    "fanOut 'layer': one delivery for each, with its own bytes; %s",
    async (dialect) => {
      const requests = await sentBy({ like: { dialect, fanOut: 'layer' } }, onLayers)
      expect(requests).toHaveLength(5)
      const bodies = new Set(requests.map(({ body }) => body.toString()))
      // A payload of the `organization` dialect contains no layers, so all bodies are equal.
      expect(bodies.size).toBe(dialect === 'organization' ? 1 : 5)
      if (dialect !== 'hosted') return
      const items = requests.map((request) => payloadOf<{ layerId: number }[]>(request))
      expect(
        items
          .flat()
          .map(({ layerId }) => layerId)
          .sort(),
      ).toEqual([0, 1, 2, 3, 4])
      expect(items.every(({ length }) => length === 1)).toBe(true)
    },
  )

  it("fanOut 'webhook': one delivery; in the hosted dialect, with one item for each layer", async () => {
    const [service, ...more] = await sentBy({}, onLayers)
    expect([payloadOf(service!).events.length, more.length]).toEqual([1, 0])
    const [hosted, ...others] = await sentBy({ like: { dialect: 'hosted' } }, onLayers)
    const items = payloadOf<{ layerId: number }[]>(hosted!)
    expect([items.map(({ layerId }) => layerId), others.length]).toEqual([layerIds, 0])
  })

  it('hosted: the item of each layer lists the events on that layer', async () => {
    const events = [
      { ...CREATED, layerIds: [0, 1], when: 1 },
      { ...CREATED, changeType: 'FeaturesDeleted', layerIds: [1, 2, 1], when: 2 },
      { ...CREATED, layerIds: [1], when: 3 },
    ]
    const [request] = await sentBy({ like: { dialect: 'hosted' } }, events)
    const items = payloadOf<{ layerId: number; lastUpdatedTime: number; events: string[] }[]>(request!)
    expect(items.map(({ layerId, lastUpdatedTime, events }) => [layerId, lastUpdatedTime, events])).toEqual([
      [0, 1, ['FeaturesCreated']],
      [1, 3, ['FeaturesCreated', 'FeaturesDeleted']],
      [2, 2, ['FeaturesDeleted']],
    ])
  })
})

describe('our own receiver verifies and decodes deliveries', () => {
  async function received({ headers, body }: Captured, profile = arcgis): Promise<[number, WebhookEvent[]]> {
    const events: WebhookEvent[] = []
    const receiver = createReceiver({ signatureKey: KEY, profile, observer: { refused() {} } }).on(
      '*',
      (event) => {
        events.push(event)
      },
    )
    const request = new Request('http://receiver.example/hook', {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: new Uint8Array(body),
    })
    return [(await receiver.fetch(request)).status, events]
  }

  it.each(['application/json', FORM_TYPE] as const)(
    'hosted dialect, with the profile arcgis: %s',
    async (contentType) => {
      const webhook = seed(PLAIN, { contentType })
      const [request] = await sentBy(
        { like: { dialect: 'hosted' } },
        { ...CREATED, layerIds: [3, 5] },
        webhook,
      )
      const [status, events] = await received(request!)
      expect(status).toBe(200)
      expect(events).toMatchObject([
        { changeType: 'FeaturesCreated', layerId: 3, when: new Date(NOW), webhook: { name: FEATURE.name } },
        { changeType: 'FeaturesCreated', layerId: 5, service: { serviceName: 'Parcels' } },
      ])
      expect(events[0]?.changesUrl).toMatch(/^https:\/\/.*serverGens=\[\d+,\d+\]&async=true$/)
    },
  )

  it.each(['header', 'field'] as const)('a hosted form with its signature in the %s', async (signatureIn) => {
    const options: MockServiceOptions = {
      like: { dialect: 'hosted', signature: { signatureIn, formPayload: 'plain' } },
    }
    const [request] = await sentBy(options, CREATED, seed(PLAIN, { contentType: FORM_TYPE }))
    expect(await received(request!)).toMatchObject([200, [{ changeType: 'FeaturesCreated' }]])
  })

  it('service dialect, with the header name x-esriHook-Signature', async () => {
    const signature = { signatureHeader: 'x-esriHook-Signature' }
    const [request] = await sentBy({ like: { signature }, version: '11.2' })
    expect(await received(request!)).toMatchObject([200, [{ webhook: { id: FEATURE.id } }]])
  })

  it('a delivery signed with another key is refused', async () => {
    const [request] = await sentBy(
      { like: { dialect: 'hosted' } },
      CREATED,
      seed(PLAIN, { signatureKey: 'other' }),
    )
    expect(await received(request!)).toEqual([401, []])
  })
})

describe('the dialect organization', () => {
  it('sends the key itself in the header secret, and no signature', async () => {
    const [request] = await sentBy({ like: { dialect: 'organization' } })
    expect(request?.headers.secret).toBe(KEY)
    const others = Object.keys(request!.headers).filter((name) => /sign|x-/.test(name))
    expect(others).toEqual([])
    const parsed = parsePayload({ body: request!.body, contentType: 'application/json' })
    expect(parsed).toMatchObject({ ok: true, changeTypes: ['FeaturesCreated'] })
  })

  it('sends no secret without a key', async () => {
    const [request] = await sentBy(
      { like: { dialect: 'organization' } },
      CREATED,
      seed(PLAIN, { signatureKey: '' }),
    )
    expect(request?.headers).not.toHaveProperty('secret')
  })

  it('records an error for a key that is invalid in a header', async () => {
    const webhook = seed(PLAIN, { hookUrl: 'http://127.0.0.1:9/', signatureKey: 'Schlüssel東京' })
    const [attempt] = await create([webhook], { like: { dialect: 'organization' } }).trigger(CREATED)
    expect(attempt?.error).toMatch(/header/i)
  })
})

describe('versions', () => {
  it.each([
    ['11.1', false],
    ['11.2', true],
    ['11.3', true],
  ] as const)('version %s signs deliveries: %s', async (version, isSigned) => {
    for (const contentType of ['application/json', FORM_TYPE] as const) {
      const [request] = await sentBy({ version }, CREATED, seed(PLAIN, { contentType }))
      expect(request?.headers['x-service']).toBe(isSigned ? signatureOf(request!.body) : undefined)
      const inField = { version, like: { signature: { signatureIn: 'field' } } } as const
      const [form] = await sentBy(inField, CREATED, seed(PLAIN, { contentType: FORM_TYPE }))
      expect(form?.body.toString().includes('&x-service=')).toBe(isSigned)
    }
  })
})

describe('createMockService rejects options with which every delivery would fail', () => {
  it.each<[string, ProductOptions]>([
    ['signature.signatureHeader', { signature: { signatureHeader: 'two words' } }],
    ['signature.encoding', { signature: { encoding: 'binary' as 'hex' } }],
    ['signature.signatureIn', { signature: { signatureIn: 'query' as 'field' } }],
    ['changesUrl', { changesUrl: 'half' as 'whole' }],
  ])('%s', (_, like) => {
    expect(() => create([PLAIN], { like })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })
})
