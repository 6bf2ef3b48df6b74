import type { Delivery } from 'geohook'
import {
  type ChangesObserver,
  type ChangesOptions,
  createChanges,
  type Step,
  type StepResult,
} from 'geohook/changes'
import { describe, expect, it } from 'vitest'
import { DOCUMENT, startHostile } from './contract/hostile-server.ts'
import { FAST, startService, TOKEN, toEvent } from './support.ts'

const ORIGINS = ['https://gis.example.com']

describe('options', () => {
  it.each<[unknown, string]>([
    [undefined, 'origins must be a list of at least one origin'],
    [{}, 'origins must be a list of at least one origin'],
    [{ origins: [] }, 'origins must be a list of at least one origin'],
    [{ origins: 'https://gis.example.com' }, 'origins must be a list of at least one origin'],
    [{ origins: ['*'] }, 'an item that is not an origin'],
    [{ origins: ['https://*.example.com'] }, 'an item that is not an origin'],
    [{ origins: ['https://gis.example.com/arcgis'] }, 'an item that is not an origin'],
    [{ origins: ['https://gis.example.com?a'] }, 'an item that is not an origin'],
    [{ origins: ['https://a:b@gis.example.com'] }, 'an item that is not an origin'],
    [{ origins: ['ftp://gis.example.com'] }, 'an item that is not an origin'],
    [{ origins: [7] }, 'an item that is not an origin'],
    [{ origins: ['http://gis.example.com'] }, 'the origin http://gis.example.com is not https'],
    [{ origins: ['http://127.0.0.1.nip.io'] }, 'is not https'],
    [{ origins: ['http://10.0.0.1'] }, 'is not https'],
    [{ origins: ORIGINS, token: 7 }, 'token must be text, a function, or credentials'],
    [{ origins: ORIGINS, token: {} }, 'token must be text, a function, or credentials'],
    [{ origins: ORIGINS, timeout: 999 }, 'timeout must be at least 1,000 ms'],
    [{ origins: ORIGINS, timeout: 2 ** 31 }, 'timeout must be an integer number of milliseconds'],
    [{ origins: ORIGINS, limit: 0 }, 'limit must be a number of bytes'],
    [{ origins: ORIGINS, attachments: 'yes' }, 'attachments must be true or false'],
    [{ origins: ORIGINS, fieldsToCompare: 'name' }, 'fieldsToCompare must be a list of field names'],
    [{ origins: ORIGINS, outSR: '4326' }, 'outSR must be a well-known id'],
    [{ origins: ORIGINS, pollInterval: { min: 5, max: 1 } }, 'pollInterval.max must not be less'],
    [{ origins: ORIGINS, pollInterval: { min: 0, max: 1 } }, 'pollInterval.min must be an integer'],
  ])('%j is invalid', (options, message) => {
    expect(() => createChanges(options as ChangesOptions)).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
    )
  })

  it('origins may end with a slash, have a port, and be this machine', () => {
    const origins = [
      'https://gis.example.com/',
      'https://GIS.example.com:6443',
      'http://[::1]:80',
      'http://localhost',
    ]
    expect(() => createChanges({ origins })).not.toThrow()
  })
})

/** The fields that a client sends for an event. */
async function fieldsOf(
  query: string,
  options: Partial<ChangesOptions> = {},
  changeType = 'FeaturesEdited',
): Promise<Record<string, string>> {
  const server = await startHostile({ extractChanges: DOCUMENT })
  const event = toEvent(`${server.url}/extractChanges?${query}`, { changeType })
  await createChanges({ origins: [server.origin], ...options }).of(event)
  return Object.fromEntries(new URLSearchParams(server.got[0]?.all.split('} ').at(-1)))
}

describe('the request', () => {
  const DEFAULTS = {
    f: 'json',
    dataFormat: 'json',
    serverGens: '[1,2]',
    returnInserts: 'true',
    returnUpdates: 'true',
    returnDeletes: 'true',
    returnAttachments: 'false',
  }

  it.each<[string, Partial<ChangesOptions>, string | undefined, object]>([
    ['serverGens=[1,2]', {}, undefined, {}],
    ['servergens=1,2', {}, undefined, {}],
    ['serverGens=1', {}, undefined, { serverGens: '[1]' }],
    ['serverGens=[-2,-1]', {}, undefined, { serverGens: '[-2,-1]' }],
    ['serverGens=[1,2]&layers=[0,2]', {}, undefined, { layers: '0,2' }],
    [
      'serverGens=[1,2]&returnUpdates=false&RETURNDELETES=False',
      {},
      undefined,
      { returnUpdates: 'false', returnDeletes: 'false' },
    ],
    ['serverGens=[1,2]&async=true&gdbVersion=v', {}, undefined, { async: 'true', gdbVersion: 'v' }],
    ['serverGens=[1,2]&f=html&token=stolen&returnIdsOnly=true&dataFormat=sqlite&x=1', {}, undefined, {}],
    ['serverGens=[1,2]&returnAttachments=true', {}, undefined, { returnAttachments: 'true' }],
    ['serverGens=[1,2]&returnAttachments=true', { attachments: false }, undefined, {}],
    ['serverGens=[1,2]', { attachments: true }, undefined, { returnAttachments: 'true' }],
    ['serverGens=[1,2]', {}, 'AttachmentsCreated', { returnAttachments: 'true' }],
    [
      'serverGens=[1,2]',
      { deletedFeatures: true, geometryUpdates: true, outSR: 4326 },
      undefined,
      { returnDeletedFeatures: 'true', returnHasGeometryUpdates: 'true', outSR: '4326' },
    ],
    [
      'serverGens=[1,2]',
      { fieldsToCompare: ['a', 'b'] },
      undefined,
      { fieldsToCompare: '{"fields":["a","b"]}' },
    ],
    ['serverGens=[1,2]', { token: TOKEN }, undefined, { token: TOKEN }],
  ])('for %s with %j and %s has %j', async (query, options, changeType, expected) => {
    expect(await fieldsOf(query, options, changeType)).toEqual({ ...DEFAULTS, ...expected })
  })

  it('is one for all events of a service, over their joint window', async () => {
    const servers = [
      await startHostile({ extractChanges: DOCUMENT }),
      await startHostile({ extractChanges: DOCUMENT }),
    ]
    const [one, two] = servers.map(({ url }) => url)
    const client = createChanges({ origins: servers.map(({ origin }) => origin) })
    const events = [
      `${one}/extractChanges?serverGens=[1,2]`,
      `${two}/extractChanges?serverGens=[7,8]`,
      `${one}/extractChanges?serverGens=[2,5]`,
    ].map((url) => toEvent(url))
    const schema = { ...toEvent(''), changeType: 'LayerSchemaChanged' }
    delete schema.changesUrl
    const { layers, layerServerGens } = await client.of({
      events: [...events, schema],
    } as unknown as Delivery)
    expect(layers.map(({ service }) => service)).toEqual([one, two])
    expect(layerServerGens.map(({ service }) => service)).toEqual([one, two])
    expect(
      servers.map(({ got }) => decodeURIComponent(got[0]?.all ?? '').match(/serverGens=([^&]*)/)?.[1]),
    ).toEqual(['[1,5]', '[7,8]'])
  })

  it('is not sent for events that have no changes', async () => {
    const event = toEvent('', { changeType: 'LayerSchemaChanged' })
    delete event.changesUrl
    const client = createChanges({ origins: ORIGINS })
    expect(await client.of(event)).toEqual({ layers: [], layerServerGens: [] })
    expect(await client.of([])).toEqual({ layers: [], layerServerGens: [] })
    await expect(client.of({ ...event, changeType: 'FeaturesEdited' })).rejects.toMatchObject({
      code: 'changes_url_refused',
      hint: expect.stringContaining('ChangeTracking'),
    })
  })

  it.each([
    'https://gis.example.com/FeatureServer',
    'https://gis.example.com/FeatureServer/extractChanges',
    'https://gis.example.com/FeatureServer/extractChanges?serverGens=x',
  ])('is not sent to %s, which names no changes', async (url) => {
    await expect(createChanges({ origins: ORIGINS }).of(toEvent(url))).rejects.toMatchObject({
      code: 'changes_url_refused',
    })
  })
})

describe('tokens', () => {
  it('a service that needs no token gets none', async () => {
    const server = await startHostile()
    await createChanges({ origins: [server.origin], pollInterval: FAST }).of(server.event)
    for (const { all } of server.got) expect(all).not.toMatch(/token|authorization/i)
  })

  it('a function is called for the first request, and when the token is rejected', async () => {
    const service = await startService()
    const urls: string[] = []
    const token = async (url: string): Promise<string> => `t${urls.push(url)}-token`
    const changes = service.changes({ token })
    await changes.of(service.event())
    await changes.of(service.event())
    expect(urls).toEqual([`${service.url}/extractChanges`])
    service.service.faults.add({ fault: 'token_expired', times: 1, step: 'result' })
    await changes.of(service.event())
    expect(urls).toHaveLength(2)
  })

  it('simultaneous extractions share a renewal', async () => {
    const service = await startService({ extractChanges: { answer: 'embedded' } })
    let count = 0
    const changes = service.changes({ token: () => (count++ === 0 ? 'expired' : TOKEN) })
    await Promise.all([1, 2, 3, 4].map(() => changes.of(service.event())))
    expect(count).toBe(2)
  })

  it("credentials of the vendor's client are asked for each request, and refreshed when the token is rejected", async () => {
    const service = await startService()
    const calls: string[] = []
    const credentials = {
      token: 'expired',
      async getToken(): Promise<string> {
        calls.push('get')
        return this.token
      },
      async refreshCredentials() {
        calls.push('refresh')
        this.token = TOKEN
        return this
      },
    }
    const { layers } = await service.changes({ token: credentials }).of(service.event())
    expect(layers).toHaveLength(1)
    expect(calls.filter((call) => call === 'refresh')).toHaveLength(1)
    expect(calls.length).toBeGreaterThan(4)
  })

  it.each<[string, ChangesOptions['token']]>([
    [
      'a function that throws',
      () => {
        throw new Error('no network')
      },
    ],
    [
      'a function that rejects',
      () => Promise.reject(Object.assign(new Error('no network'), { options: { client_secret: 'S3' } })),
    ],
    [
      'credentials that reject',
      { getToken: () => Promise.reject(Object.assign(new Error('no network'), { client_secret: 'S3' })) },
    ],
  ])('%s is reported without the request behind it', async (_, token) => {
    const { inspect } = await import('node:util')
    const service = await startService()
    const error = await service
      .changes({ token })
      .of(service.event())
      .catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'changes_token_rejected', message: 'no token: no network' })
    expect(inspect(error, { depth: 9 })).not.toContain('S3')
  })

  it('a function that returns no text is an error', async () => {
    const service = await startService()
    const changes = service.changes({ token: () => undefined as unknown as string })
    await expect(changes.of(service.event())).rejects.toMatchObject({
      message: 'no token: it returned no text',
    })
  })

  it('each origin has its own', async () => {
    const servers = [await startHostile(), await startHostile()]
    const changes = createChanges({
      token: (url) => `token-of-${new URL(url).port}`,
      origins: servers.map(({ origin }) => origin),
      pollInterval: FAST,
    })
    for (const { event } of servers) await changes.of(event)
    for (const { origin, got } of servers)
      expect(got.map(({ all }) => /token-of-\d+/.exec(all)?.[0])).toEqual(
        Array(3).fill(`token-of-${new URL(origin).port}`),
      )
  })
})

describe('the observer', () => {
  it('sees each step, with its requests, states and errors', async () => {
    const service = await startService()
    const seen: [Step['step'], StepResult][] = []
    const observer: ChangesObserver = {
      async around({ step, service: url, run }) {
        expect(url).toBe(service.url)
        seen.push([step, await run()])
      },
    }
    const changes = service.changes({ observer })
    service.service.faults.add({ fault: 'error_with_200', times: 1 })
    await changes.of(service.event())
    expect(seen).toEqual([
      ['submit', { requests: 2 }],
      ['poll', { requests: 1, state: 'ExportChanges' }],
      ['poll', { requests: 1, state: 'ExportAttachments' }],
      ['poll', { requests: 1, state: 'Completed' }],
      ['fetch', { requests: 1 }],
    ])
    seen.length = 0
    service.service.faults.add({ fault: 'html_answer', times: 1, step: 'submit' })
    const error = await changes.of(service.event()).catch((caught: unknown) => caught)
    expect(seen).toEqual([['submit', { requests: 1, error }]])
  })

  it.each<[string, ChangesObserver]>([
    [
      'throws',
      {
        around() {
          throw new Error('mine')
        },
      },
    ],
    ['rejects', { around: () => Promise.reject(new Error('mine')) }],
    ['runs twice', { around: ({ run }) => Promise.all([run(), run()]) }],
    [
      'has a getter that throws',
      {
        get around(): never {
          throw new Error('mine')
        },
      },
    ],
  ])('that %s does not fail the extraction', async (_, observer) => {
    const service = await startService()
    expect((await service.changes({ observer }).of(service.event())).layers).toHaveLength(1)
  })
})
