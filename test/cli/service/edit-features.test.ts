import { describe, expect, it, vi } from 'vitest'
import { createFolder, geohook, type Mock, parseStdout, withMock } from '../../helpers/cli.ts'
import { withTarget } from '../../helpers/cli-servers.ts'
import { KEY } from '../../helpers/deliver.ts'
import { startTarget } from '../../helpers/target.ts'

const folder = createFolder()

const COLLECTION = {
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      id: 3,
      properties: { kind: 'oak', isOld: true },
      geometry: { type: 'Point', coordinates: [7, 51] },
    },
    {
      type: 'Feature',
      id: 5,
      properties: { kind: 'elm', isOld: null },
      geometry: { type: 'Point', coordinates: [8, 52] },
    },
  ],
}
const trees = folder.file('trees.geojson', JSON.stringify(COLLECTION))
const EDIT = ['edit-features', 'trees']

/** Reads the features of a layer. */
async function featuresOf({ url }: Mock, service = 'trees'): Promise<Record<string, unknown>[]> {
  const response = await fetch(`${url}/rest/services/${service}/FeatureServer/0/query?f=json&where=1=1`)
  const { features } = (await response.json()) as { features: Record<string, unknown>[] }
  return features
}

const withTrees = (use: (mock: Mock) => Promise<void>) => withMock(['--features', trees], use)

describe.concurrent('geohook mock --features', () => {
  it('has a service with the features of the file', async () => {
    const { stdout } = await withTrees(async (mock) => {
      expect(await featuresOf(mock)).toMatchObject([
        { attributes: { OBJECTID: 3, kind: 'oak', isOld: 1 }, geometry: { x: 7, y: 51 } },
        { attributes: { OBJECTID: 5, kind: 'elm', isOld: null }, geometry: { x: 8, y: 52 } },
      ])
    })
    expect(stdout).toContain('3 services, 0 webhooks\n  trees.FeatureServer\n')
  })

  it('adds the features to a service of the seed that has no layers', async () => {
    const service = { serviceName: 'trees', serviceType: 'FeatureServer' }
    const seed = folder.file('without-layers.json', JSON.stringify({ services: [service] }))
    await withMock(['--seed', seed, '--features', trees], async (mock) => {
      expect(await featuresOf(mock)).toHaveLength(2)
    })
  })

  it('has the layers of a seed', async () => {
    const layers = [{ name: 'trees', features: [{ attributes: { kind: 'oak' }, geometry: { x: 7, y: 51 } }] }]
    const services = [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers }]
    const seed = folder.file('layers.json', JSON.stringify({ services }))
    await withMock(['--seed', seed], async (mock) => {
      expect(await featuresOf(mock, 'Parcels')).toMatchObject([{ attributes: { OBJECTID: 1, kind: 'oak' } }])
    })
  })

  it.each([
    ['a missing file', ['none.geojson'], 'cannot read none.geojson: no such file'],
    ['other JSON', [folder.file('other.json', '[]')], 'other.json: it must be a GeoJSON FeatureCollection'],
    ['two files of one name', [trees, trees], 'two files of --features have the name trees'],
    [
      'an invalid geometry',
      [folder.file('bad.geojson', '{"type":"Feature","properties":{},"geometry":{"type":"Circle"}}')],
      'bad.geojson: layers of bad.0.features.0.geometry: the type must be Point',
    ],
  ])('refuses %s', async (_, files, message) => {
    const args = files.flatMap((file) => ['--features', file])
    const result = await geohook(['mock', '--port', '0', ...args])
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  })

  it('refuses features for a service of the seed that has layers', async () => {
    const layers = [{ name: 'x' }]
    const services = [{ serviceName: 'trees', serviceType: 'FeatureServer', layers }]
    const seed = folder.file('taken.json', JSON.stringify({ services }))
    const result = await geohook(['mock', '--port', '0', '--seed', seed, '--features', trees])
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('already has layers') })
  })
})

describe.concurrent('geohook edit-features', () => {
  it('adds, updates and deletes features, and triggers the webhooks', () =>
    withTarget(async (target) => {
      await withTrees(async (mock) => {
        for (const [index, type] of ['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted'].entries()) {
          const webhook = ['--name', `n${index}`, '--hook-url', target.url, '--change-types', type]
          await mock.geohook('create', 'trees.FeatureServer', ...webhook, '--key', KEY)
        }
        const { code, stdout, stderr } = await mock.geohook(
          ...EDIT,
          ...['--add', '{"attributes":{"kind":"ash"},"geometry":{"x":1,"y":2}}'],
          ...['--add', '[{"attributes":{"kind":"fir"}}]'],
          ...['--update', '{"attributes":{"OBJECTID":3,"kind":"old oak"}}'],
          ...['--delete', '5'],
        )
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
        expect(stdout).toMatch(
          /^added 2 features: 6, 7\nupdated 1 feature: 3\ndeleted 1 feature: 5\ngeneration \d{13}\n$/,
        )
        expect((await featuresOf(mock)).map(({ attributes }) => attributes)).toMatchObject([
          { OBJECTID: 3, kind: 'old oak', isOld: 1 },
          { OBJECTID: 6, kind: 'ash' },
          { OBJECTID: 7, kind: 'fir' },
        ])
        await vi.waitUntil(() => target.requests.length === 3, { timeout: 60_000, interval: 5 })
      })
    }))

  it('converts GeoJSON, whose ids are the object ids of updates', () =>
    withTrees(async (mock) => {
      const [first] = COLLECTION.features
      const moved = {
        ...first,
        properties: { isOld: false },
        geometry: { type: 'Point', coordinates: [9, 53] },
      }
      const added = await mock.geohook(
        ...EDIT,
        '--add',
        `@${trees}`,
        '--update',
        JSON.stringify(moved),
        '--json',
      )
      expect(added).toMatchObject({ code: 0, stderr: '' })
      expect(parseStdout(added)).toEqual({
        layerId: 0,
        addResults: [6, 7].map((objectId) => ({ objectId, globalId: expect.any(String), success: true })),
        updateResults: [{ objectId: 3, globalId: expect.any(String), success: true }],
        deleteResults: [],
        generation: expect.any(Number),
      })
      expect((await featuresOf(mock))[0]).toMatchObject({
        attributes: { OBJECTID: 3, kind: 'oak', isOld: 0 },
        geometry: { x: 9, y: 53 },
      })
    }))

  it('reports each row that fails with exit code 1, and that the others are not applied', () =>
    withTrees(async (mock) => {
      const args = [
        ...EDIT,
        '--add',
        '[{"attributes":{"kind":"ash"}},{"attributes":{"size":1}}]',
        '--delete',
        '9',
      ]
      expect(await mock.geohook(...args)).toMatchObject({
        code: 1,
        stderr: '',
        stdout: expect.stringMatching(
          /^failed add 2: 1000 The layer has no field "size"\.\nfailed delete 1: 1011 .*\n1 other edit not applied, because of the errors\ngeneration \d+\n$/,
        ),
      })
      const json = await mock.geohook(...args, '--json')
      expect([json.code, parseStdout(json).addResults[0].error.code]).toEqual([1, 1003])
      expect(await featuresOf(mock)).toHaveLength(2)
    }))

  it('reports errors of the service', () =>
    withTrees(async (mock) => {
      for (const args of [
        ['edit-features', 'none', '--delete', '1'],
        [...EDIT, '--layer', '4', '--delete', '1'],
      ])
        expect(await mock.geohook(...args)).toMatchObject({
          code: 1,
          stdout: '',
          stderr: expect.stringMatching(/^error: the service answered 40\d for \/rest\/services\/.*exist/),
        })
    }))

  it('works with a service that has other fields and reports no generation', async () => {
    const layer = { objectIdField: 'FID', fields: [{ name: 'FID', type: 'esriFieldTypeOID' }] }
    const target = await startTarget((res, { url }) => {
      const isLayer = url.startsWith('/rest/services/city/trees/FeatureServer/2?')
      const result = { updateResults: [{ objectId: 3, success: true }] }
      const error = { error: { code: 400, message: 'no', details: [] } }
      res.end(JSON.stringify(isLayer ? layer : url.endsWith('/applyEdits') ? result : error))
    })
    const args = ['--layer', '2', '--update', `@${trees}`, '--token', 'secret-token', '--url', target.url]
    const { code, stdout } = await geohook(['edit-features', 'city/trees.FeatureServer', ...args])
    await target.close()
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'updated 1 feature: 3\n' })
    const edit = target.requests.find(({ method }) => method === 'POST')
    const form = new URLSearchParams(String(edit?.body))
    expect([...form.keys()]).toEqual(['updates', 'token', 'f'])
    expect(JSON.parse(form.get('updates') ?? '')).toMatchObject([
      { attributes: { FID: 3, kind: 'oak', isOld: 1 }, geometry: { spatialReference: { wkid: 4326 } } },
      { attributes: { FID: 5 } },
    ])
    for (const { headers } of target.requests) expect(headers.authorization).toBe('Bearer secret-token')
  })

  it.each([
    ['nothing to edit', [], 'there is nothing to edit'],
    ['text that is not JSON', ['--add', 'secret'], '--add is not JSON\n'],
    ['JSON without features', ['--update', '{"a":1}'], '--update has no features\n'],
    ['invalid GeoJSON', ['--add', '{"type":"FeatureCollection"}'], '--add: GeoJSON.features: '],
    ['a missing file', ['--add', '@none.json'], 'cannot read none.json: no such file'],
    ['an invalid id', ['--delete', '1,x'], '--delete <ids>: must be object ids separated by commas'],
  ])('refuses %s', async (_, args, message) => {
    const result = await geohook(['edit-features', 'Parcels', ...args])
    expect(result).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`error: ${message}`),
    })
    expect(result.stderr).not.toContain('secret')
  })

  it('refuses a geoprocessing service', async () => {
    const result = await geohook(['edit-features', 'Analysis.GPServer', '--delete', '1'])
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('must be a feature service') })
  })
})
