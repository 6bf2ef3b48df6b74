import { type ChangesClient, type ChangesOptions, createChanges, type FeaturePage } from 'geohook/changes'
import { describe, expect, it } from 'vitest'
import { type Reply, raw, redirect, startHostile } from './contract/hostile-server.ts'
import { FAST, startService, TOKEN } from './support.ts'

const LAYERS = [
  {
    name: 'trees',
    fields: [
      { name: 'kind', type: 'esriFieldTypeString' as const },
      { name: 'height', type: 'esriFieldTypeDouble' as const },
    ],
    geometryType: 'esriGeometryPoint' as const,
  },
  { name: 'fences', geometryType: 'esriGeometryPolyline' as const },
  { name: 'owners', fields: [{ name: 'name', type: 'esriFieldTypeString' as const }] },
]

/** A service with 2,001 trees, one owner and no fences. */
async function startTrees() {
  const service = await startService({
    services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers: LAYERS }],
  })
  const trees = Array.from({ length: 2001 }, (_, height) => ({ attributes: { kind: 'oak', height } }))
  const parcels = service.service.features('Parcels')
  for (const adds of [trees.slice(0, 1000), trees.slice(1000)]) parcels.applyEdits([{ layerId: 0, adds }])
  parcels.applyEdits([{ layerId: 2, adds: [{ attributes: { name: 'ann' } }] }])
  return { ...service, parcels }
}

async function collect(pages: AsyncIterable<FeaturePage>): Promise<FeaturePage[]> {
  const all: FeaturePage[] = []
  for await (const page of pages) all.push(page)
  return all
}

const heightsOf = (pages: FeaturePage[]) =>
  pages.flatMap(({ features }) => features.map(({ attributes }) => attributes.height))

/** A server with one layer, whose pages are the given replies; the last one is repeated. */
async function startLayer(pages: Reply[], description: object = {}) {
  const remaining = [...pages]
  const server = await startHostile({
    0: { id: 0, objectIdField: 'OBJECTID', ...description },
    query: (res, origin, req) => {
      const reply = remaining.length > 1 ? remaining.shift() : remaining[0]
      if (typeof reply === 'function') return reply(res, origin, req)
      res.setHeader('content-type', 'application/json').end(JSON.stringify(reply))
    },
  })
  const query = (options: Partial<ChangesOptions> = {}, signal?: AbortSignal) =>
    createChanges({ origins: [server.origin], pollInterval: FAST, ...options }).query(server.url, {
      layer: 0,
      signal,
    })
  const fieldsOf = () =>
    server.got
      .filter(({ path }) => path.endsWith('/query'))
      .map(({ all }) => Object.fromEntries(new URLSearchParams(all.split('} ').at(-1))))
  return { ...server, query, fieldsOf }
}

const page = (...ids: unknown[]) => ({ features: ids.map((OBJECTID) => ({ attributes: { OBJECTID } })) })

describe('query', () => {
  it('reads all layers and tables in pages of 1,000 features', async () => {
    const { changes, url, service } = await startTrees()
    const pages = await collect(changes().query(url))
    expect(pages.map(({ layer, features }) => [layer, features.length])).toEqual([
      [0, 1000],
      [0, 1000],
      [0, 1],
      [2, 1],
    ])
    const stored = service.snapshot().featureData?.[0]?.layers.flatMap(({ features }) => features) ?? []
    const read = pages.flatMap(({ features }) => features.map(({ attributes }) => attributes))
    expect(read).toEqual(stored.map(({ attributes }) => attributes))
    expect(pages.flatMap(({ attachments }) => attachments)).toEqual([])
  })

  it('reads the features and the fields that it is asked for, with their ids', async () => {
    const { changes, url } = await startTrees()
    const where = "height < 3 OR (kind = 'elm' AND height = 5)"
    const pages = await collect(changes().query(url, { layer: 0, where, outFields: ['height'] }))
    expect(pages.flatMap(({ features }) => features)).toEqual(
      [0, 1, 2].map((height) => ({
        attributes: { OBJECTID: expect.any(Number), GlobalID: expect.any(String), height },
      })),
    )
  })

  it('skips no feature if others are deleted between two pages', async () => {
    const { changes, url, parcels } = await startTrees()
    const read: FeaturePage[] = []
    for await (const next of changes().query(url, { layer: 0 })) {
      read.push(next)
      const deletes = next.features.map(({ attributes }) => Number(attributes.OBJECTID))
      parcels.applyEdits([{ layerId: 0, deletes }])
    }
    expect(heightsOf(read)).toEqual(Array.from({ length: 2001 }, (_, height) => height))
  })

  it('lists the attachments as changes.of does, so that download() opens them', async () => {
    const service = await startService()
    const bytes = new TextEncoder().encode('a picture')
    const file = { parent: 2, name: 'a.txt', contentType: 'text/plain', bytes }
    service.service.features('Parcels').applyEdits([{ layerId: 0, attachments: { adds: [file] } }])
    const changes = service.changes({ attachments: true })
    const pages = await collect(changes.query(service.url, { attachments: true, outFields: ['name'] }))
    const found = pages.flatMap(({ attachments }) => attachments)
    const { layers } = await changes.of(service.event())
    expect(found).toHaveLength(1)
    expect(found).toEqual(layers.flatMap(({ attachments }) => attachments.adds))
    for (const attachment of found)
      expect(await new Response(await changes.download(attachment)).text()).toBe('a picture')
  })

  it('reads a page only when it is requested, and none after the loop has ended', async () => {
    const server = await startLayer([page(1), page(2), page(3), page()])
    const pages = server.query()
    expect(server.got).toEqual([])
    for await (const { features } of pages) if (features[0]?.attributes.OBJECTID === 2) break
    expect(server.fieldsOf()).toHaveLength(2)
  })

  it('sends the fields of the operation query in a POST, with the token in its form', async () => {
    const server = await startLayer([page(4, 7), page()])
    await collect(server.query({ token: TOKEN, outSR: 4326 }))
    const fields = {
      where: '1=1',
      outFields: '*',
      orderByFields: 'OBJECTID',
      returnZ: 'true',
      returnM: 'true',
      resultRecordCount: '1000',
      outSR: '4326',
      f: 'json',
      token: TOKEN,
    }
    expect(server.fieldsOf()).toEqual([fields, { ...fields, where: 'OBJECTID > 7' }])
    expect(server.got.map(({ method, path }) => `${method} ${path.split('FeatureServer')[1]}`)).toEqual([
      'POST /0',
      'POST /0/query',
      'POST /0/query',
    ])
  })

  it('leaves the size of pages to a service without pagination', async () => {
    const description = { advancedQueryCapabilities: { supportsPagination: false } }
    const server = await startLayer([page(1), page()], description)
    expect(await collect(server.query())).toHaveLength(1)
    expect(server.fieldsOf()[0]).not.toHaveProperty('resultRecordCount')
  })

  it('finds the ids by the types of their fields, and skips layers without features', async () => {
    const fields = [
      { name: 'fid', type: 'esriFieldTypeOID' },
      { name: 'guid', type: 'esriFieldTypeGlobalID' },
    ]
    const pages = [{ features: [{ attributes: { fid: 1, guid: '{A}' }, geometry: null }] }, page()]
    const server = await startHostile({
      layers: {
        layers: [
          { id: 0, type: 'Group Layer' },
          { id: 1, fields, hasAttachments: true },
        ],
      },
      query: (res) => res.end(JSON.stringify(pages.shift())),
      attachments: { attachmentInfos: [{ id: 5, name: 'a', contentType: 'b', size: 1 }] },
    })
    const changes = createChanges({ origins: [server.origin] })
    expect(await collect(changes.query(server.url, { attachments: true }))).toEqual([
      {
        layer: 1,
        features: [{ attributes: { fid: 1, guid: '{A}' } }],
        attachments: [
          expect.objectContaining({
            globalId: '',
            parentGlobalId: '{A}',
            url: `${server.url}/1/1/attachments/5`,
          }),
        ],
      },
    ])
  })

  it('shows its requests to the observer', async () => {
    const server = await startLayer([page(1), page()])
    const steps: string[] = []
    await collect(server.query({ observer: { around: ({ step }) => steps.push(step) } }))
    expect(steps).toEqual(['describe', 'query', 'query'])
  })
})

describe('a failure of a query', () => {
  it('is repeated if it may be temporary, and a rejected token is renewed', async () => {
    const error = { error: { code: 498, message: 'Invalid token.' } }
    const server = await startLayer([raw(503, ''), error, page(1), error, page()])
    let tokens = 0
    expect(await collect(server.query({ token: () => `token-${++tokens}` }))).toHaveLength(1)
    expect(server.fieldsOf().map(({ token }) => token)).toEqual([
      'token-1',
      'token-1',
      'token-2',
      'token-2',
      'token-3',
    ])
  })

  it.each<[string, Reply]>([
    ['has no list of features', { count: 3 }],
    ['is empty, but not the last one', { features: [], exceededTransferLimit: true }],
    ['repeats the page before', page(1, 2)],
    ['is in another order', page(4, 3)],
    ['has no object ids', page(undefined)],
    ['has features without attributes', { features: [{}] }],
    ['is an HTML page', raw(200, '<html>')],
  ])('is changes_malformed if a page %s', async (_, reply) => {
    const server = await startLayer([page(1, 2), reply])
    const pages = server.query()
    expect((await pages.next()).value).toMatchObject({ features: [{}, {}] })
    await expect(pages.next()).rejects.toMatchObject({ code: 'changes_malformed' })
  })

  it.each([
    ['/layers', { layers: undefined }, undefined],
    ['/0', { objectIdField: undefined, fields: [] }, 0],
  ])('is changes_malformed if the description %s has no layer', async (path, reply, layer) => {
    const server = await startHostile({ [path.slice(1)]: { id: 0, ...reply } })
    const pages = createChanges({ origins: [server.origin] }).query(server.url, { layer })
    await expect(pages.next()).rejects.toMatchObject({ code: 'changes_malformed' })
  })

  it('is that of the service, without the token', async () => {
    const message = `Cannot perform query for ${TOKEN}. Invalid query parameters.`
    const server = await startLayer([{ error: { code: 400, message } }])
    const error = await collect(server.query({ token: TOKEN })).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'changes_failed',
      serviceCode: 400,
      message: expect.stringContaining('Cannot perform query for ***. Invalid query parameters.'),
    })
  })

  it('is a redirect to another origin, which gets no request', async () => {
    const other = await startHostile()
    const server = await startLayer([redirect(`${other.origin}/query`, 307)])
    await expect(collect(server.query({ token: TOKEN }))).rejects.toMatchObject({
      code: 'changes_url_refused',
    })
    expect(other.got).toEqual([])
  })

  it('is a response larger than limit, or later than timeout', async () => {
    const large = await startLayer([page(...Array.from({ length: 500 }, (_, id) => id))])
    await expect(collect(large.query({ limit: 1000 }))).rejects.toMatchObject({ code: 'changes_too_large' })
    const silent = await startLayer([() => {}])
    await expect(collect(silent.query({ timeout: 1000 }))).rejects.toMatchObject({ code: 'changes_timeout' })
  })

  it('is the abort reason, during a request and between two pages', async () => {
    const reason = new Error('stopped')
    const during = new AbortController()
    const silent = await startLayer([() => during.abort(reason)])
    await expect(collect(silent.query({}, during.signal))).rejects.toBe(reason)
    const between = new AbortController()
    const server = await startLayer([page(1), page(2), page()])
    const pages = server.query({}, between.signal)
    await pages.next()
    between.abort(reason)
    await expect(pages.next()).rejects.toBe(reason)
    expect(server.fieldsOf()).toHaveLength(1)
  })

  it.each<[unknown, unknown, string]>([
    ['https://other.example/rest/services/P/FeatureServer', {}, 'outside the allowed origins'],
    ['https://gis.example.com/rest/services/P/FeatureServer/0', {}, 'must end with /FeatureServer'],
    [undefined, {}, 'not a plain http or https URL'],
    [undefined, undefined, 'not a plain http or https URL'],
    ['', { layer: -1 }, 'layer must be a whole number, at least 0'],
    ['', { layer: '0' }, 'layer must be a whole number, at least 0'],
    ['', { where: '' }, 'where is empty'],
    ['', { outFields: 'name' }, 'outFields must be a list of field names'],
    ['', { outFields: [] }, 'outFields must be a list of field names'],
    ['', { attachments: 1 }, 'attachments must be true or false'],
    ['', { signal: new AbortController() }, 'signal must be an AbortSignal'],
    ['', { wher: '1=1' }, 'did you mean where?'],
    ['', null, 'must be an object'],
  ])('is thrown at once for query(%j, %j)', (url, options, message) => {
    const changes: ChangesClient = createChanges({ origins: ['https://gis.example.com'] })
    const service = url === '' ? 'https://gis.example.com/rest/services/P/FeatureServer' : url
    expect(() => changes.query(service as string, options as never)).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
    )
  })
})
