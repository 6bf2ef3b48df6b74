import type { Delivery } from 'geohook'
import { type ChangesOptions, createChanges } from 'geohook/changes'
import { describe, expect, it } from 'vitest'
import { DOCUMENT, startHostile } from './contract/hostile-server.ts'
import { TOKEN, toEvent } from './support.ts'

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
    [{ origins: ORIGINS, token: 'abc\n' }, 'token contains blanks, line breaks'],
    [{ origins: ORIGINS, token: undefined }, 'token is missing'],
    ...[
      7,
      '',
      'a b',
      'a\r\nX: 1',
      'a\u0000',
      'm\u00fcnchen.example',
      'ftp://gis.example.com',
      'https://',
      'https://user:secret@gis.example.com',
      'user@gis.example.com',
    ].map((referer): [unknown, string] => [
      { origins: ORIGINS, referer },
      'referer must be an http or https URL',
    ]),
    [{ origins: ORIGINS, token: {} }, 'token must be text, a function, or credentials'],
    [
      { origins: ORIGINS, timeout: 999 },
      'timeout must be a whole number of milliseconds from 1000 to 2147483647',
    ],
    [{ origins: ORIGINS, timeout: 2 ** 31 }, 'timeout must be a whole number of milliseconds from 1000'],
    [{ origins: ORIGINS, limit: 0 }, 'limit must be a number of bytes'],
    [{ origins: ORIGINS, attachments: 'yes' }, 'attachments must be true or false'],
    [{ origins: ORIGINS, fieldsToCompare: 'name' }, 'fieldsToCompare must be a list of field names'],
    [{ origins: ORIGINS, outSR: '4326' }, 'outSR must be a whole number, at least 1'],
    [{ origins: ORIGINS, pollInterval: { min: 5, max: 1 } }, 'pollInterval.max must not be less'],
    [{ origins: ORIGINS, pollInterval: { min: 0, max: 1 } }, 'pollInterval.min must be a whole number'],
    [{ origins: ORIGINS, pollInterval: { min: 1, max: 2, mxa: 3 } }, 'unknown pollInterval member mxa'],
    [{ origins: ORIGINS, pollInterval: null }, 'the pollInterval members must be an object'],
    [{ origins: new Array(1) }, 'an item that is not an origin'],
    [{ origins: ORIGINS, fieldsToCompare: new Array(1) }, 'fieldsToCompare must be a list of field names'],
  ])('%j is invalid', (options, message) => {
    expect(() => createChanges(options as ChangesOptions)).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
    )
  })

  it.each([
    'https://maps.example.com/app?a=b@c',
    'http://[::1]:8080',
    'maps.example.com:8443',
    'http',
    '@esri/arcgis-rest-js',
  ])('referer may be %s', (referer) => {
    expect(() => createChanges({ origins: ORIGINS, referer })).not.toThrow()
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
