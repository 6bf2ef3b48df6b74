import {
  addAttachment,
  addFeatures,
  applyEdits,
  deleteAttachments,
  deleteFeatures,
  getAllLayersAndTables,
  getAttachments,
  getFeature,
  getLayer,
  getService,
  type IFeature,
  type IQueryFeaturesOptions,
  queryAllFeatures,
  queryFeatures,
  updateAttachment,
  updateFeatures,
} from '@esri/arcgis-rest-feature-service'
import { request } from '@esri/arcgis-rest-request'
import { describe, expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { asApp, asUser, PARCELS, PRODUCTS, receiveFrom, sendFiles, startLike, WEBHOOKS } from './support.ts'

const point = (x: number, y: number) => ({ x, y })

const feature = (name: string, geometry = point(1, 2)): IFeature => ({ geometry, attributes: { name } })

/** Starts a mock service, and returns the options that all calls on its layer share. */
async function start(like: (typeof PRODUCTS)[number] = 'enterprise') {
  const mock = await startLike(like)
  const authentication = like === 'service' ? asApp(mock) : await asUser(mock)
  return { ...mock, layer: { url: `${mock.url}${PARCELS}/0`, authentication } }
}

type Layer = Awaited<ReturnType<typeof start>>['layer']

/** Adds features, and returns their object ids. */
async function add(layer: Layer, ...names: string[]): Promise<number[]> {
  const { addResults } = await addFeatures({ ...layer, features: names.map((name) => feature(name)) })
  return addResults.map(({ objectId }) => objectId)
}

async function namesIn(layer: Layer, options: Partial<IQueryFeaturesOptions> = {}): Promise<unknown[]> {
  const answer = await queryFeatures({ ...layer, ...options })
  return 'features' in answer ? answer.features.map(({ attributes }) => attributes.name) : []
}

/** A file that differs from its text if it is decoded as UTF-8 on the way. */
const file = (name: string, size = 300): File =>
  new File([Uint8Array.from({ length: size }, (_, index) => index % 256)], name, { type: 'image/png' })

describe('a feature service', () => {
  it('describes itself and its layer', async () => {
    const { url, layer } = await start()
    const service = await getService({ ...layer, url: url + PARCELS })
    expect(service).toMatchObject({ layers: [{ id: 0, name: 'Parcels' }], tables: [] })
    expect(service.capabilities?.split(',')).toEqual(
      expect.arrayContaining(['Create', 'Delete', 'Query', 'Update', 'Editing', 'ChangeTracking']),
    )
    const described = await getLayer(layer)
    expect(described).toMatchObject({
      id: 0,
      name: 'Parcels',
      type: 'Feature Layer',
      geometryType: 'esriGeometryPoint',
      objectIdField: expect.any(String),
      globalIdField: expect.any(String),
      hasAttachments: true,
    })
    expect(described.fields?.map(({ name }) => name)).toEqual(
      expect.arrayContaining([described.objectIdField, 'name', 'notes']),
    )
    const all = await getAllLayersAndTables({ ...layer, url: `${layer.url}` })
    expect(all).toMatchObject({ layers: [{ id: 0 }], tables: [] })
  })

  it('adds, updates and deletes features', async () => {
    const { layer } = await start()
    const { addResults } = await addFeatures({ ...layer, features: [feature('one'), feature('two')] })
    expect(addResults).toEqual([
      expect.objectContaining({ objectId: expect.any(Number), globalId: expect.any(String), success: true }),
      expect.objectContaining({ objectId: expect.any(Number), globalId: expect.any(String), success: true }),
    ])
    const [one, two] = addResults.map(({ objectId }) => objectId) as [number, number]
    const { objectIdField = '' } = await getLayer(layer)
    const attributes = { [objectIdField]: one, name: 'uno' }
    const { updateResults } = await updateFeatures({
      ...layer,
      features: [{ attributes, geometry: point(3, 4) }],
    })
    expect(updateResults).toMatchObject([{ objectId: one, success: true }])
    expect(await getFeature({ ...layer, id: one })).toMatchObject({
      attributes: { name: 'uno' },
      geometry: { x: 3, y: 4 },
    })
    const { deleteResults } = await deleteFeatures({ ...layer, objectIds: [two] })
    expect(deleteResults).toMatchObject([{ objectId: two, success: true }])
    expect(await namesIn(layer)).toEqual(['uno'])
    await deleteFeatures({ ...layer, objectIds: [], where: "name = 'uno'" })
    expect(await namesIn(layer)).toEqual([])
  })

  it('queries features by object id and by attributes', async () => {
    const { layer } = await start()
    const [one, , three] = (await add(layer, 'one', 'two', "three's")) as [number, number, number]
    expect(await namesIn(layer)).toEqual(['one', 'two', "three's"])
    expect(await namesIn(layer, { objectIds: [three, one] })).toEqual(['one', "three's"])
    expect(await namesIn(layer, { where: "name = 'two'" })).toEqual(['two'])
    expect(await namesIn(layer, { where: "name = 'three''s'" })).toEqual(["three's"])
    expect(await queryFeatures({ ...layer, returnCountOnly: true })).toMatchObject({ count: 3 })
    expect(await queryFeatures({ ...layer, returnIdsOnly: true, where: "name <> 'two'" })).toMatchObject({
      objectIdFieldName: expect.any(String),
      objectIds: [one, three],
    })
    const bare = await queryFeatures({ ...layer, outFields: ['name'], returnGeometry: false })
    expect(bare).toMatchObject({ features: [{ attributes: { name: 'one' } }, {}, {}] })
    expect(JSON.stringify(bare)).not.toContain('"geometry":{')
  })

  it('returns all features in pages', async () => {
    const { layer } = await start()
    const names = Array.from({ length: 7 }, (_, index) => `feature ${index}`)
    await add(layer, ...names)
    const { features } = await queryAllFeatures({ ...layer, resultRecordCount: 3 })
    expect(features.map(({ attributes }) => attributes.name)).toEqual(names)
  })

  it('applies edits of several kinds together', async () => {
    const { layer } = await start()
    const [one, two] = (await add(layer, 'one', 'two')) as [number, number]
    const { objectIdField = '' } = await getLayer(layer)
    const answer = await applyEdits({
      ...layer,
      adds: [feature('three')],
      updates: [{ attributes: { [objectIdField]: one, name: 'uno' } } as IFeature],
      deletes: [two],
    })
    expect(answer).toMatchObject({
      addResults: [{ success: true }],
      updateResults: [{ objectId: one, success: true }],
      deleteResults: [{ objectId: two, success: true }],
    })
    expect(await namesIn(layer)).toEqual(['uno', 'three'])
  })

  it('reports a failed edit for each feature', async () => {
    const { layer } = await start()
    const { deleteResults } = await deleteFeatures({ ...layer, objectIds: [4711] })
    expect(deleteResults).toMatchObject([
      { success: false, error: { code: expect.any(Number), description: expect.any(String) } },
    ])
  })

  it('adds, updates, lists and deletes attachments', async () => {
    sendFiles()
    const { layer } = await start()
    const [featureId = 0] = await add(layer, 'one')
    const first = file('photo.png')
    const { addAttachmentResult } = await addAttachment({ ...layer, featureId, attachment: first })
    expect(addAttachmentResult).toMatchObject({ objectId: expect.any(Number), success: true })
    const attachmentId = addAttachmentResult.objectId
    const list = async () => (await getAttachments({ ...layer, featureId })).attachmentInfos
    expect(await list()).toMatchObject([
      { id: attachmentId, name: 'photo.png', contentType: 'image/png', size: 300 },
    ])
    const token = await layer.authentication.getToken(layer.url)
    const download = await fetch(`${layer.url}/${featureId}/attachments/${attachmentId}?token=${token}`)
    expect(await download.arrayBuffer()).toEqual(await first.arrayBuffer())

    const second = file('größer.png', 500)
    const { updateAttachmentResult } = await updateAttachment({
      ...layer,
      featureId,
      attachment: second,
      attachmentId,
    })
    expect(updateAttachmentResult).toMatchObject({ objectId: attachmentId, success: true })
    expect(await list()).toMatchObject([{ id: attachmentId, name: 'größer.png', size: 500 }])

    const { deleteAttachmentResults } = await deleteAttachments({
      ...layer,
      featureId,
      attachmentIds: [attachmentId],
    })
    expect(deleteAttachmentResults).toMatchObject([{ objectId: attachmentId, success: true }])
    expect(await list()).toEqual([])
  })

  it.each(PRODUCTS)('of a mock like %s needs a token', async (like) => {
    const { layer } = await start(like)
    const { url } = layer
    await expect(queryFeatures({ url })).rejects.toMatchObject({ name: 'ArcGISAuthError', code: 499 })
    await expect(addFeatures({ url, features: [feature('one')] })).rejects.toMatchObject({ code: 499 })
    const wrong = { url, authentication: 'wrong', suppressWarnings: true }
    await expect(queryFeatures(wrong)).rejects.toMatchObject({ name: 'ArcGISAuthError', code: 498 })
    expect(await namesIn(layer)).toEqual([])
  })

  it('needs no token if the mock service has no users', async () => {
    const mock = await startLike('enterprise', { auth: undefined })
    const layer = { url: `${mock.url}${PARCELS}/0` } as Layer
    await add(layer, 'one')
    expect(await namesIn(layer)).toEqual(['one'])
  })

  it('explains what is wrong with a request', async () => {
    const { url, layer } = await start()
    const { authentication } = layer
    const missing = [`${url}${PARCELS}/7`, `${url}/rest/services/Roads/FeatureServer/0`]
    for (const path of missing) {
      await expect(queryFeatures({ url: path, authentication }), path).rejects.toMatchObject({
        name: 'ArcGISRequestError',
        originalMessage: expect.stringMatching(/./),
      })
    }
    await expect(queryFeatures({ ...layer, where: 'name =' })).rejects.toMatchObject({
      name: 'ArcGISRequestError',
      code: 400,
      originalMessage: expect.stringMatching(/where/),
    })
  })
})

describe.each(PRODUCTS)('edits on a mock like %s', (like) => {
  it('arrive at the receiver of a webhook, signed', async () => {
    sendFiles()
    const { layer, ...mock } = await start(like)
    const receiver = await receiveFrom(like)
    await request(`${mock.url}${WEBHOOKS[like]}/create`, {
      authentication: asApp(mock),
      params: {
        name: 'edits',
        hookUrl: receiver.url,
        signatureKey: KEY,
        changeTypes: '*',
        active: true,
      },
    })
    const [objectId = 0] = await add(layer, 'one')
    await receiver.arrived(1)
    await applyEdits({ ...layer, adds: [feature('two')], deletes: [objectId] })
    await receiver.arrived(2)
    const [id = 0] = (await queryFeatures({ ...layer, returnIdsOnly: true }).then(
      (answer) => 'objectIds' in answer && answer.objectIds,
    )) as number[]
    await addAttachment({ ...layer, featureId: id, attachment: file('photo.png') })
    await receiver.arrived(3)
    expect(receiver.deliveries.map(({ changeTypes }) => [...changeTypes].sort())).toEqual([
      ['FeaturesCreated'],
      ['FeaturesCreated', 'FeaturesDeleted'],
      ['AttachmentsCreated'],
    ])
    for (const { events } of receiver.deliveries) {
      for (const { changesUrl } of events) expect(changesUrl).toMatch(`${mock.url}${PARCELS}/extractChanges?`)
    }
  })
})
