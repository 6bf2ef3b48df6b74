import { describe, expect, it } from 'vitest'
import { createReader, type Document } from './reader.ts'
import { type Parcels, START, startParcels } from './support.ts'

const EMBEDDED = { extractChanges: { answer: 'embedded' } } as const

/**
 * Features 1 to 4 are added (generation START + 1), 2 and 3 are updated (START + 2), and 3 and 4 are deleted (START + 3).
 */
async function startEdited(): Promise<Parcels> {
  const parcels = await startParcels(EMBEDDED)
  await parcels.add('one', 'two', 'three', 'four')
  await parcels.post('/0/updateFeatures', {
    features: [
      { attributes: { OBJECTID: 2, name: 'second' } },
      { attributes: { OBJECTID: 3, notes: 'moved' }, geometry: { x: 9, y: 9 } },
    ],
  })
  await parcels.post('/0/deleteFeatures', { objectIds: '3,4' })
  return parcels
}

const extract = ({ url }: Parcels, fields: Record<string, string>): Promise<Document> =>
  createReader().extract(`${url}/extractChanges`, fields)

/** The names of the features in the document, and the number of deletions. */
function summary({ edits: [layer] = [] }: Document): unknown {
  const names = (rows: { attributes: Record<string, unknown> }[] = []): unknown[] =>
    rows.map(({ attributes }) => attributes.name)
  const { adds, updates, deleteIds } = layer?.features ?? {}
  return [names(adds), names(updates), deleteIds?.length]
}

/** @returns the code and the message of the error */
const refusal = (parcels: Parcels, fields: Record<string, string>): Promise<unknown> =>
  extract(parcels, fields).then(
    () => 'not refused',
    ({ code, message, details }) => [code, message, ...details].join(' '),
  )

describe('windows', () => {
  it.each([
    ['everything', [0], [['one', 'second'], [], 2]],
    ['a number', '0', [['one', 'second'], [], 2]],
    ['after the adds', [1], [[], ['second'], 2]],
    ['the updates only: what was deleted later has no row', [1, 2], [[], ['second'], 0]],
    ['the deletions only', [2, 3], [[], [], 2]],
    ['the end', [3], [[], [], 0]],
    ['an empty window', [1, 1], [[], [], 0]],
    ['a future', [100, 200], [[], [], 0]],
  ])('serverGens %s', async (_, offsets, expected) => {
    const parcels = await startEdited()
    const serverGens =
      typeof offsets === 'string' ? String(START) : JSON.stringify(offsets.map((offset) => START + offset))
    expect(summary(await extract(parcels, { serverGens }))).toEqual(expected)
  })

  it('the answer says where the next window begins', async () => {
    const parcels = await startEdited()
    const gens = async (serverGens: number[]): Promise<unknown> =>
      (await extract(parcels, { serverGens: JSON.stringify(serverGens) })).layerServerGens
    expect(await gens([START, START + 2])).toEqual([{ id: 0, serverGen: START + 2 }])
    expect(await gens([START])).toEqual([{ id: 0, serverGen: await parcels.generation() }])
    expect(await gens([START, START + 999])).toEqual([{ id: 0, serverGen: await parcels.generation() }])
  })

  it('layerServerGens has a generation for each layer', async () => {
    const parcels = await startEdited()
    const layerServerGens = JSON.stringify([{ id: 0, minServerGen: START, serverGen: START + 1 }])
    expect(summary(await extract(parcels, { layerServerGens }))).toEqual([[], ['second'], 2])
    expect(summary(await extract(parcels, { layers: '0', layerServerGens }))).toEqual([[], ['second'], 2])
    expect(summary(await extract(parcels, { layers: '[0]', layerServerGens }))).toEqual([[], ['second'], 2])
  })

  it.each([
    ['neither generation', {}, 'layerServerGens is required, or serverGens'],
    [
      'both',
      { serverGens: '1', layerServerGens: '[{"id":0,"serverGen":1}]' },
      'either layerServerGens or serverGens',
    ],
    ['text', { serverGens: 'now' }, 'serverGens is not valid JSON'],
    ['three generations', { serverGens: '[1,2,3]' }, 'serverGens'],
    ['a window backwards', { serverGens: '[2,1]' }, 'the first generation is after the last'],
    ['an unknown layer', { layers: '0,7', serverGens: String(START) }, 'no layer 7'],
    ['an invalid layer', { layers: '0,x', serverGens: String(START) }, 'layers'],
    ['other layers', { layers: '[0,1]', layerServerGens: '[{"id":0,"serverGen":1}]' }, 'no layer 1'],
    [
      'a layer twice',
      { layerServerGens: '[{"id":0,"serverGen":1},{"id":0,"serverGen":1}]' },
      'Invalid Sync model type.',
    ],
    ['a list without brackets', { serverGens: '1,2' }, 'serverGens is not valid JSON'],
  ])('refuses %s', async (_, fields, message) => {
    const refused = await refusal(await startParcels(EMBEDDED), fields)
    expect(refused).toMatch(/^400 /)
    expect(refused).toContain(message)
  })

  it('refuses a window that begins before the oldest change that is kept', async () => {
    const parcels = await startEdited()
    expect(await refusal(parcels, { serverGens: '[-1]' })).toContain(`minServerGen: ${START}`)
    expect(await refusal(parcels, { serverGens: String(START - 1) })).toContain('Query all features')
  })
})

describe('kinds of changes', () => {
  const ALL = [['one', 'second'], [], 2]
  it.each([
    ['nothing', {}, ALL],
    ['what it does not want', { returnInserts: 'false' }, [[], ['second'], 2]],
    ['two that it does not want', { returnInserts: 'false', returnUpdates: 'false' }, [[], [], 2]],
    ['what it wants', { returnInserts: 'true' }, [['one', 'second'], [], 0]],
    ['all of them', { returnInserts: 'TRUE', returnUpdates: 'True', returnDeletes: 'true' }, ALL],
    [
      'that it wants none',
      { returnInserts: 'false', returnUpdates: 'false', returnDeletes: 'false' },
      [[], [], 0],
    ],
    ['in another letter case', { RETURNINSERTS: 'false' }, [[], ['second'], 2]],
  ])('a request that says %s', async (_, fields, expected) => {
    const parcels = await startEdited()
    expect(summary(await extract(parcels, { serverGens: String(START), ...fields }))).toEqual(expected)
  })

  it('returnDeletedFeatures returns the rows of deleted features', async () => {
    const parcels = await startEdited()
    const { edits } = await extract(parcels, { serverGens: String(START), returnDeletedFeatures: 'true' })
    const { deleteIds, deletes = [] } = edits?.[0]?.features ?? {}
    expect(deletes).toMatchObject([
      { attributes: { OBJECTID: 3, name: 'three', notes: 'moved' }, geometry: { x: 9, y: 9 } },
      { attributes: { OBJECTID: 4, name: 'four' } },
    ])
    expect(deletes.map(({ attributes }) => attributes.GlobalID)).toEqual(deleteIds)
  })

  it('returnIdsOnly returns object ids', async () => {
    const parcels = await startEdited()
    const gens = JSON.stringify([START])
    const { edits } = await extract(parcels, { serverGens: gens, returnIdsOnly: 'true' })
    expect(edits).toEqual([{ id: 0, objectIds: { adds: [1, 2], updates: [], deletes: [3, 4] } }])
  })

  it('fieldsToCompare lists the updates of these fields', async () => {
    const parcels = await startEdited()
    await parcels.post('/0/updateFeatures', { features: [{ attributes: { OBJECTID: 1, notes: 'new' } }] })
    const gens = JSON.stringify([START + 1])
    const of = async (fields: object, more = {}): Promise<unknown> => {
      const { edits } = await extract(parcels, {
        serverGens: gens,
        fieldsToCompare: JSON.stringify(fields),
        ...more,
      })
      return edits?.[0]?.features?.fieldUpdates ?? edits?.[0]?.objectIds?.fieldUpdates
    }
    expect(await of({ fields: ['name'] })).toEqual([2])
    expect(await of({ fields: ['NOTES'] })).toEqual([1])
    expect(await of(['name', 'notes'])).toEqual([2, 1])
    expect(await of({ fields: ['name'] }, { returnIdsOnly: 'true' })).toEqual([2])
  })

  it('fieldsToCompare names a feature that was added again by its new object id', async () => {
    const parcels = await startParcels(EMBEDDED)
    const globalId = '{11111111-1111-4111-8111-111111111111}'
    const feature = { attributes: { name: 'one', GlobalID: globalId } }
    const edits = (fields: object) => parcels.post('/0/applyEdits', { useGlobalIds: 'true', ...fields })
    await edits({ adds: [feature] })
    await edits({ updates: [{ attributes: { GlobalID: globalId, name: 'two' } }] })
    await edits({ deletes: [globalId] })
    await edits({ adds: [feature] })
    const { edits: [layer] = [] } = await extract(parcels, {
      serverGens: JSON.stringify([START]),
      returnIdsOnly: 'true',
      returnInserts: 'false',
      returnUpdates: 'true',
      fieldsToCompare: '["name"]',
    })
    expect(layer?.objectIds).toMatchObject({ updates: [2], fieldUpdates: [2] })
  })

  it('returnHasGeometryUpdates says whether an update moved a feature', async () => {
    const parcels = await startParcels(EMBEDDED)
    await parcels.add('one')
    const has = async (): Promise<unknown> => {
      const serverGens = JSON.stringify([START + 1])
      const { edits } = await extract(parcels, { serverGens, returnHasGeometryUpdates: 'true' })
      return edits?.[0]?.hasGeometryUpdates
    }
    await parcels.post('/0/updateFeatures', { features: [{ attributes: { OBJECTID: 1, name: 'new' } }] })
    expect(await has()).toBe(false)
    await parcels.post('/0/updateFeatures', {
      features: [{ attributes: { OBJECTID: 1 }, geometry: { x: 5, y: 5 } }],
    })
    expect(await has()).toBe(true)
  })

  it('layerQueries filters features, but not deletions', async () => {
    const parcels = await startEdited()
    const of = async (query: object): Promise<unknown> =>
      summary(
        await extract(parcels, { serverGens: String(START), layerQueries: JSON.stringify({ 0: query }) }),
      )
    expect(await of({ where: "name = 'one'" })).toEqual([['one'], [], 2])
    expect(await of({ where: "name = 'one'", queryOption: 'all' })).toEqual([['one', 'second'], [], 2])
    expect(await of({ queryOption: 'none' })).toEqual([[], [], 2])
    expect(await of({ useGeometry: true, includeRelated: true })).toEqual([['one', 'second'], [], 2])
  })
})

describe('attachments', () => {
  async function startWithFiles(): Promise<Parcels> {
    const parcels = await startParcels(EMBEDDED)
    await parcels.add('one', 'two')
    for (const objectId of [1, 2]) await parcels.attach(objectId, 'a.txt', 'hello')
    return parcels
  }

  it('returnAttachments returns URLs of the files', async () => {
    const parcels = await startWithFiles()
    const { edits } = await extract(parcels, { serverGens: String(START), returnAttachments: 'true' })
    const { adds = [], updates, deleteIds } = edits?.[0]?.attachments ?? {}
    expect([updates, deleteIds]).toEqual([[], []])
    expect(adds[0]).toEqual({
      attachmentId: 1,
      globalId: expect.stringMatching(/^\{[0-9A-F-]{36}\}$/),
      parentGlobalId: edits?.[0]?.features?.adds[0]?.attributes.GlobalID,
      name: 'a.txt',
      contentType: 'text/plain',
      size: 5,
      url: `${parcels.url}/0/1/attachments/1`,
    })
    expect(await (await fetch(adds[0]?.url ?? '')).text()).toBe('hello')
  })

  it.each(['returnAttachmentsDataByUrl', 'returnAttachmentsDatabyURL', 'returnAttachmentsDataByURL'])(
    '%s=false returns their data',
    async (name) => {
      const parcels = await startWithFiles()
      const { edits } = await extract(parcels, {
        serverGens: String(START),
        returnAttachments: 'true',
        [name]: 'false',
      })
      expect(edits?.[0]?.attachments?.adds[0]).toMatchObject({ data: btoa('hello') })
      expect(edits?.[0]?.attachments?.adds[0]).not.toHaveProperty('url')
    },
  )

  it('deleted attachments are listed by their global ids, also those of deleted features', async () => {
    const parcels = await startWithFiles()
    const all = { returnAttachments: 'true' }
    const before = await extract(parcels, { serverGens: String(START), ...all })
    const since = before.layerServerGens[0]?.serverGen
    await parcels.post('/0/1/deleteAttachments', { attachmentIds: '1' })
    await parcels.post('/0/deleteFeatures', { objectIds: '2' })
    const { edits } = await extract(parcels, { serverGens: String(since), ...all })
    expect(edits?.[0]?.attachments?.deleteIds).toEqual(
      before.edits?.[0]?.attachments?.adds.map(({ globalId }) => globalId),
    )
  })

  it('are not listed unless they are wanted', async () => {
    const parcels = await startWithFiles()
    const { edits } = await extract(parcels, { serverGens: String(START) })
    expect(edits?.[0]).not.toHaveProperty('attachments')
  })
})

describe('values that are refused', () => {
  it.each([
    [{ returnInserts: 'yes' }, 'returnInserts must be true or false'],
    [{ dataFormat: 'sqlite' }, 'dataFormat must be json'],
    [{ geometry: '0,0,1,1' }, 'geometry: the mock does not filter by geometry'],
    [{ gdbVersion: 'alice.edits' }, 'gdbVersion'],
    [{ changesExtentGridCell: 'medium' }, 'changesExtentGridCell'],
    [{ returnExtentOnly: 'true' }, 'returnExtentOnly must be false'],
    [{ outSR: '3857' }, 'outSR'],
    [{ outSR: 'x' }, 'outSR'],
    [{ transportType: 'url' }, 'transportType must be'],
    [{ returnDeletedFeatures: 'true', returnDeletes: 'false' }, 'needs returnDeletes=true'],
    [{ returnDeletedFeatures: 'true', returnIdsOnly: 'true' }, 'exclude each other'],
    [{ fieldsToCompare: '{"fields":["height"]}' }, 'no layer has the field "height"'],
    [{ fieldsToCompare: '{"fields":"name"}' }, 'fieldsToCompare: must be like'],
    [{ layerQueries: '{"7":{}}' }, 'a layer that does not exist'],
    [{ layerQueries: '{"0":{"where":"name ="}}' }, 'where is not valid'],
    [{ layerQueries: '{"0":{"queryOption":"some"}}' }, 'layerQueries.0.queryOption'],
    [{ layerQueries: '[' }, 'layerQueries is not valid JSON'],
  ])('%j', async (fields: Record<string, string>, message) => {
    const parcels = await startParcels(EMBEDDED)
    expect(await refusal(parcels, { serverGens: String(START), ...fields })).toContain(message)
  })

  it('accepts what changes nothing, and ignores unknown parameters', async () => {
    const parcels = await startParcels(EMBEDDED)
    const fields = {
      serverGens: String(START),
      dataFormat: 'JSON',
      gdbVersion: 'sde.DEFAULT',
      changesExtentGridCell: 'none',
      outSR: '{"wkid":4326}',
      inSR: '4326',
      geometryType: 'esriGeometryEnvelope',
      newerThanThisMock: 'true',
    }
    expect(await extract(parcels, fields)).toHaveProperty('edits')
  })
})

describe('versions of change extraction', () => {
  const start = async (version: '10.6.1' | '10.9' | '11.0' | '11.1'): Promise<Parcels> => {
    const parcels = await startParcels({ extractChanges: { answer: 'embedded', version } })
    await parcels.add('one')
    await parcels.post('/0/updateFeatures', { features: [{ attributes: { OBJECTID: 1, name: 'new' } }] })
    return parcels
  }
  const FIELDS = {
    layerServerGens: JSON.stringify([{ id: 0, serverGen: START + 1 }]),
    returnHasGeometryUpdates: 'true',
    returnAttachments: 'true',
    returnDeletedFeatures: 'true',
    fieldsToCompare: '{"fields":["name"]}',
  }

  it('10.6.1 returns ids only, and does not know serverGens', async () => {
    const parcels = await start('10.6.1')
    expect((await extract(parcels, FIELDS)).edits).toEqual([
      { id: 0, objectIds: { adds: [], updates: [1], deletes: [] } },
    ])
    expect(await refusal(parcels, { serverGens: String(START) })).toContain('layerServerGens is required')
  })

  it.each([
    ['10.9', ['hasGeometryUpdates', 'id', 'objectIds'], undefined],
    [
      '11.0',
      ['attachments', 'features', 'hasGeometryUpdates', 'id'],
      ['adds', 'deleteIds', 'fieldUpdates', 'updates'],
    ],
    [
      '11.1',
      ['attachments', 'features', 'hasGeometryUpdates', 'id'],
      ['adds', 'deleteIds', 'deletes', 'fieldUpdates', 'updates'],
    ],
  ] as const)('%s returns %j', async (version, members, lists) => {
    const [layer] = (await extract(await start(version), FIELDS)).edits ?? []
    expect(Object.keys(layer ?? {}).sort()).toEqual(members)
    expect(layer?.features && Object.keys(layer.features).sort()).toEqual(lists)
  })
})
