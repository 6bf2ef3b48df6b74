import { describe, expect, it } from 'vitest'
import { createReader } from './reader.ts'
import { START, startParcels } from './support.ts'

describe('the answer of extractChanges', () => {
  it.each(['GET', 'POST'] as const)('reads changes by a job with %s', async (method) => {
    const parcels = await startParcels()
    await parcels.add('one', 'two')
    const reader = createReader({ method })
    const document = await reader.extract(
      `${parcels.url}/extractChanges?serverGens=%5B${START},${START + 1}%5D`,
    )
    expect(reader.trace.states).toEqual(['ExportChanges', 'ExportAttachments', 'Completed'])
    expect(document).toEqual({
      layerServerGens: [{ id: 0, serverGen: START + 1 }],
      transportType: 'esriTransportTypeUrl',
      responseType: 'esriDataChangesResponseTypeEdits',
      edits: [
        {
          id: 0,
          features: {
            adds: [
              {
                geometry: { x: 0, y: 0 },
                attributes: expect.objectContaining({ OBJECTID: 1, name: 'one', CreationDate: START }),
              },
              {
                geometry: { x: 1, y: -1 },
                attributes: expect.objectContaining({ OBJECTID: 2, name: 'two' }),
              },
            ],
            updates: [],
            deleteIds: [],
          },
        },
      ],
    })
  })

  it('describes a job by its state, and has no URL of a file while it runs', async () => {
    const parcels = await startParcels({ extractChanges: { states: ['Pending'], polls: 1, duration: 5_000 } })
    await parcels.add('one')
    const { statusUrl, ...more } = await parcels.post('/extractChanges', {
      serverGens: [START],
      async: 'true',
    })
    expect(more).toEqual({})
    const id = statusUrl.split('/jobs/')[1]
    const running = {
      responseType: 'esriDataChangesResponseTypeEdits',
      resultUrl: '',
      submissionTime: START,
      lastUpdatedTime: START,
      status: 'Pending',
      transportType: 'esriTransportTypeUrl',
    }
    expect(await parcels.post(`/jobs/${id}`, {})).toEqual(running)
    await parcels.clock.advance(4999)
    expect(await parcels.post(`/jobs/${id}`, {})).toEqual(running)
    await parcels.clock.advance(1)
    expect(await parcels.post(`/jobs/${id}`, {})).toEqual({
      ...running,
      status: 'Completed',
      lastUpdatedTime: START + 5000,
      resultUrl: expect.stringMatching(/\/FeatureServer\/changefiles\/[0-9a-f-]{36}\.json$/),
    })
  })

  it.each([
    ['auto', {}, 'job'],
    ['auto', { async: 'true' }, 'job'],
    ['auto', { async: 'true', transportType: 'esriTransportTypeEmbedded' }, 'job'],
    ['auto', { async: 'FALSE' }, 'embedded'],
    ['auto', { transportType: 'esriTransportTypeEmbedded' }, 'embedded'],
    ['auto', { transportType: 'esriTransportTypeUrl', returnIdsOnly: 'true' }, 'job'],
    ['auto', { returnIdsOnly: 'true' }, 'embedded'],
    ['job', { async: 'false' }, 'job'],
    ['embedded', { async: 'true' }, 'embedded'],
  ] as const)('with answer %s, a request with %j gets: %s', async (answer, fields, kind) => {
    const parcels = await startParcels({ extractChanges: { answer } })
    const json = await parcels.post('/extractChanges', { serverGens: [START], ...fields })
    expect('statusUrl' in json ? 'job' : 'embedded').toBe(kind)
    if (kind === 'embedded') expect(json.transportType).toBe('esriTransportTypeEmbedded')
  })

  it('a window without changes has a document that says so', async () => {
    const parcels = await startParcels({ extractChanges: { polls: 0 } })
    const { statusUrl } = await parcels.post('/extractChanges', { serverGens: [START] })
    const job = await (await fetch(`${statusUrl}?f=json`)).json()
    expect(job).toMatchObject({ responseType: 'esriDataChangesResponseTypeNoEdits', status: 'Completed' })
    expect(await (await fetch(job.resultUrl)).json()).toMatchObject({
      responseType: 'esriDataChangesResponseTypeNoEdits',
      edits: [{ id: 0, features: { adds: [], updates: [], deleteIds: [] } }],
    })
  })

  it('jobs and files of other services and unknown ids are not found', async () => {
    const parcels = await startParcels({
      services: ['Parcels', 'Trees'].map((serviceName) => ({
        serviceName,
        serviceType: 'FeatureServer' as const,
      })),
    })
    const { statusUrl } = await parcels.post('/extractChanges', { serverGens: [START] })
    for (const url of [
      statusUrl.replace('Parcels', 'Trees'),
      `${parcels.url}/jobs/none`,
      `${parcels.url}/changefiles/none.json`,
    ])
      expect(await (await fetch(`${url}?f=json`)).json()).toMatchObject({ error: { code: 404 } })
  })
})

describe('the file of a job', () => {
  /** Completes a job. @returns the URL of its file */
  async function complete({ post }: Awaited<ReturnType<typeof startParcels>>): Promise<string> {
    const { statusUrl } = await post('/extractChanges', { serverGens: [START] })
    return (await (await fetch(`${statusUrl}?f=json`)).json()).resultUrl
  }

  it('is removed a time after its last use', async () => {
    const parcels = await startParcels({ extractChanges: { polls: 0 } })
    const url = await complete(parcels)
    const isThere = async (): Promise<boolean> => !('error' in (await (await fetch(url)).json()))
    await parcels.clock.advance(599_999)
    expect(await isThere()).toBe(true)
    await parcels.clock.advance(599_999)
    expect(await isThere()).toBe(true)
    await parcels.clock.advance(600_000)
    expect(await isThere()).toBe(false)
  })

  it('is dropped by reset()', async () => {
    const parcels = await startParcels({ extractChanges: { polls: 0 } })
    const url = await complete(parcels)
    parcels.service.reset()
    expect(await (await fetch(url)).json()).toMatchObject({ error: { code: 404 } })
  })

  it('can redirect to a signed URL on another host, which needs and accepts no token', async () => {
    const parcels = await startParcels({ extractChanges: { polls: 0, redirect: true, fileLifetime: 60_000 } })
    const response = await fetch(await complete(parcels), { redirect: 'manual' })
    expect(response.status).toBe(302)
    const url = response.headers.get('location') ?? ''
    expect(new URL(url).hostname).toBe('localhost')
    expect(await (await fetch(url)).json()).toHaveProperty('edits')
    expect((await fetch(`${url}&token=t`)).status).toBe(400)
    expect((await fetch(url, { headers: { authorization: 'Bearer t' } })).status).toBe(400)
    expect((await fetch(url, { headers: { 'x-esri-authorization': 'Bearer t' } })).status).toBe(400)
    expect((await fetch(url.replace(/signature=../, 'signature=zz'))).status).toBe(403)
    expect((await fetch(url.replace(/expires=\d/, 'expires=9'))).status).toBe(403)
    await parcels.clock.advance(60_000)
    expect((await fetch(url)).status).toBe(403)
  })

  it.each([
    ['hosted', true],
    ['service', false],
  ] as const)('redirects by default in the dialect %s: %s', async (dialect, redirects) => {
    const parcels = await startParcels({ like: { dialect }, extractChanges: { polls: 0 } })
    const { status } = await fetch(await complete(parcels), { redirect: 'manual' })
    expect(status === 302).toBe(redirects)
  })
})

it('requires a token for every step, but not for a signed URL', async () => {
  const parcels = await startParcels({
    auth: {
      authenticate: (token) => (token === 'right' ? { username: 'alice', privileges: [] } : undefined),
    },
    extractChanges: { redirect: true },
  })
  const url = `${parcels.url}/extractChanges?serverGens=[${START}]`
  await expect(createReader().extract(url)).rejects.toMatchObject({ code: 499 })
  await expect(createReader({ token: async () => 'wrong' }).extract(url)).rejects.toMatchObject({ code: 498 })
  const reader = createReader({ token: async () => 'right' })
  expect(await reader.extract(url)).toHaveProperty('edits')
  expect([...reader.trace.origins].map((origin) => new URL(origin).hostname)).toEqual([
    '127.0.0.1',
    'localhost',
  ])
  const status = reader.trace.urls.find((asked) => asked.includes('/jobs/'))
  const file = reader.trace.urls.find((asked) => asked.includes('/changefiles/'))
  for (const asked of [status, file])
    expect(await (await fetch(`${asked}?f=json`)).json()).toMatchObject({ error: { code: 499 } })
})

it('the changesUrl of a triggered event can be extracted, without edits', async () => {
  const parcels = await startParcels()
  await parcels.service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
  const document = await createReader().extract(
    `${parcels.url}/extractChanges?serverGens=[${START},${START + 1}]`,
  )
  expect(document).toMatchObject({ layerServerGens: [{ id: 0, serverGen: START + 1 }], edits: [{ id: 0 }] })
})
