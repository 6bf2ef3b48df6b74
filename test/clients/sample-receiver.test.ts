import { timingSafeEqual } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { addFeatures, deleteFeatures, updateFeatures } from '@esri/arcgis-rest-feature-service'
import { type ArcGISIdentityManager, request } from '@esri/arcgis-rest-request'
import express from 'express'
import { describe, expect, it } from 'vitest'
import { base64Of, KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'
import { asApp, asUser, type Mock, PARCELS, startLike, WEBHOOKS } from './support.ts'

/** An entry of a delivery, as the sample reads it. */
interface Payload {
  changesUrl: string
}

interface ChangeDocument {
  edits: { id: number; features: { adds: Row[]; updates: Row[]; deleteIds: string[] } }[]
}

interface Row {
  attributes: Record<string, unknown>
}

/** What became of one delivery at the sample. */
type Result = { changes: ChangeDocument } | { error: unknown }

interface SampleOptions {
  authentication: ArcGISIdentityManager
  /** How the entries of a delivery are found. The sample expects a list. */
  toPayloads?: (body: unknown) => Payload[]
}

/**
 * A receiver with the logic of the vendor's published sample: it verifies the raw body, responds, follows `changesUrl`
 * of the first entry as a job, and reads the result.
 */
async function startSample({ authentication, toPayloads = (body) => body as Payload[] }: SampleOptions) {
  const results: Result[] = []
  const arrivals = new EventEmitter()
  const signatureOf = (bytes: Buffer | string) => Buffer.from(`sha256=${base64Of(bytes)}`)

  async function readChanges(body: unknown): Promise<ChangeDocument> {
    const [payload] = toPayloads(body)
    const changesUrl = decodeURIComponent((payload as Payload).changesUrl)
    const { statusUrl } = await request(changesUrl, { authentication })
    if (!statusUrl) throw new Error('the service started no job')
    for (;;) {
      const { status, resultUrl } = await request(statusUrl, { authentication })
      if (status === 'Failed') throw new Error('the job has failed')
      if (status === 'Completed') return request(resultUrl, { authentication })
      await sleep(5)
    }
  }

  const app = express()
  app.get('/hook', (req, res) => {
    res.json({ response_token: signatureOf(String(req.query.crc_token)).toString() })
  })
  app.post('/hook', express.raw({ type: () => true }), (req, res) => {
    const expected = signatureOf(req.body)
    const given = Buffer.from(req.get('x-esriHook-Signature') ?? '')
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      res.sendStatus(401)
      return
    }
    res.sendStatus(200)
    Promise.resolve(JSON.parse(req.body.toString()))
      .then(readChanges)
      .then(
        (changes) => results.push({ changes }),
        (error) => results.push({ error }),
      )
      .then(() => arrivals.emit('result'))
  })
  const { url } = await serve(app)
  return {
    url: `${url}/hook`,
    /** Resolves with the results once there are this many. */
    async results(count: number): Promise<Result[]> {
      while (results.length < count) await once(arrivals, 'result')
      return results
    },
  }
}

/** Creates a webhook for a sample receiver at a mock service, and edits features. */
async function edit(mock: Mock, hookUrl: string, like: 'enterprise' | 'online') {
  const authentication = asApp(mock)
  const webhook = { name: 'sample', hookUrl, signatureKey: KEY, changeTypes: '*', active: true }
  await request(`${mock.url}${WEBHOOKS[like]}/create`, { authentication, params: webhook })
  const layer = { url: `${mock.url}${PARCELS}/0`, authentication }
  const row = (attributes: Row['attributes']) => ({ attributes, geometry: { x: 1, y: 2 } })
  return {
    add: (name: string) => addFeatures({ ...layer, features: [row({ name })] }),
    rename: (objectId: number, name: string) =>
      updateFeatures({ ...layer, features: [row({ OBJECTID: objectId, name })] }),
    remove: (objectId: number) => deleteFeatures({ ...layer, objectIds: [objectId] }),
  }
}

const namesOf = (rows: Row[]): unknown[] => rows.map(({ attributes }) => attributes.name)

/** Returns what the sample learned about layer 0 from one delivery. */
function learned(result: Result | undefined) {
  if (!result || 'error' in result) throw new Error('no changes', { cause: result?.error })
  const features = result.changes.edits.find(({ id }) => id === 0)?.features
  return {
    adds: namesOf(features?.adds ?? []),
    updates: namesOf(features?.updates ?? []),
    deleteIds: features?.deleteIds ?? [],
  }
}

describe("the vendor's sample receiver", () => {
  it('reads the edits of a mock like online', async () => {
    const mock = await startLike('online')
    const sample = await startSample({ authentication: await asUser(mock) })
    const { add, rename, remove } = await edit(mock, sample.url, 'online')
    const { addResults } = await add('one')
    await sample.results(1)
    const [{ objectId = 0, globalId = '' } = {}] = addResults
    await rename(objectId, 'uno')
    await sample.results(2)
    await remove(objectId)
    const results = await sample.results(3)
    expect(results.map(learned)).toEqual([
      { adds: ['one'], updates: [], deleteIds: [] },
      { adds: [], updates: ['uno'], deleteIds: [] },
      { adds: [], updates: [], deleteIds: [globalId] },
    ])
    expect(mock.service.deliveries.map(({ answer }) => answer?.status)).toEqual([200, 200, 200])
  })

  it('refuses the deliveries of a service that signs in hex', async () => {
    const mock = await startLike('enterprise', {
      settings: { notificationAttempts: 1 },
      like: { signature: { encoding: 'hex', prefix: '' } },
    })
    const sample = await startSample({ authentication: await asUser(mock) })
    await edit(mock, sample.url, 'enterprise')
    const [attempt] = await mock.service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    expect(attempt?.answer?.status).toBe(401)
  })

  it('finds no entry in a delivery of a mock like enterprise, because the body is not a list', async () => {
    const mock = await startLike('enterprise')
    const sample = await startSample({ authentication: await asUser(mock) })
    const { add } = await edit(mock, sample.url, 'enterprise')
    await add('one')
    expect(await sample.results(1)).toEqual([{ error: expect.any(TypeError) }])
  })

  it('reads the edits of a mock like enterprise if it takes the body as the only entry', async () => {
    const mock = await startLike('enterprise')
    const sample = await startSample({
      authentication: await asUser(mock),
      toPayloads: (body) => [body as Payload],
    })
    const { add } = await edit(mock, sample.url, 'enterprise')
    await add('one')
    const [result] = await sample.results(1)
    expect(learned(result)).toEqual({ adds: ['one'], updates: [], deleteIds: [] })
  })
})
