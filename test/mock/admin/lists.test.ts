import { createManualClock, type MockService, type Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FEATURE, JOB, pathOf, post, seed, start } from '../support.ts'
import {
  auth,
  BUFFER,
  fieldsOf,
  get,
  LEAST,
  LISTED_FIELDS,
  NOW,
  PARCELS,
  startEmpty,
  tokenOf,
} from './support.ts'

const list = async (service: MockService, path: string): Promise<Webhook[]> =>
  (JSON.parse((await get(service.url + path)).text) as { webhooks: Webhook[] }).webhooks

describe('list and read', () => {
  it('a list contains the webhooks of its service in the order of creation, with the fields of lists', async () => {
    const service = await startEmpty()
    const names = ['b', 'a', 'c']
    for (const name of names) await post(service, `${PARCELS}/create`, { ...LEAST, name })
    await post(service, `${BUFFER}/create`, LEAST)
    const webhooks = await list(service, PARCELS)
    expect(webhooks.map(({ name }) => name)).toEqual(names)
    for (const webhook of webhooks) expect(fieldsOf(webhook)).toEqual(LISTED_FIELDS)
    expect(await list(service, '/services/City/Parcels.FeatureServer/webhooks')).toEqual([])
    expect((await list(service, '/services/webhooks')).map(({ name }) => name)).toEqual([...names, 'new'])
  })

  it('shows the key and the schedule', async () => {
    const service = await start()
    const [webhook] = await list(service, PARCELS)
    expect(webhook).toEqual(FEATURE)
    expect(JSON.parse((await get(service.url + pathOf(FEATURE))).text)).toEqual(FEATURE)
  })

  it('reads accept GET, HEAD and POST', async () => {
    const service = await start()
    for (const path of [PARCELS, pathOf(FEATURE), '/services/webhooks', '/services/webhooks/settings']) {
      const { text } = await get(service.url + path)
      expect((await post(service, path, {})).text).toBe(text)
      const head = await fetch(service.url + path, { method: 'HEAD' })
      expect([head.status, head.headers.get('content-length')]).toEqual([200, String(text.length)])
    }
  })

  it('is never cached', async () => {
    const service = await start()
    const first = await get(service.url + PARCELS)
    expect(first.headers.etag).toBeUndefined()
    expect((await get(service.url + PARCELS, { 'if-none-match': '*' })).status).toBe(200)
  })
})

describe('all webhooks of a service', () => {
  const CITY = seed(FEATURE, { folderName: 'City', id: 'city', active: false })
  const webhooks = (): Webhook[] => [
    seed(FEATURE),
    seed(FEATURE, { id: 'off', name: 'off', active: false }),
    seed(JOB),
    CITY,
  ]
  const startAll = (): Promise<MockService> => start(webhooks(), { clock: createManualClock(NOW) })

  it('deleteAll deletes them, and no other webhooks', async () => {
    const service = await startAll()
    expect((await post(service, `${PARCELS}/deleteAll`, {})).text).toBe('{"status":"success"}')
    expect(service.snapshot().webhooks).toEqual([seed(JOB), CITY])
    expect((await post(service, `${PARCELS}/deleteAll`, {})).status).toBe(200)
    expect((await post(service, `${pathOf(FEATURE)}/edit`, {})).status).toBe(404)
  })

  it.each([
    ['activateAll', true, 'off'],
    ['deactivateAll', false, FEATURE.id],
  ])('%s modifies only webhooks whose state changes', async (operation, active, changed) => {
    const service = await startAll()
    expect((await post(service, `${PARCELS}/${operation}`, {})).text).toBe('{"status":"success"}')
    expect(service.snapshot().webhooks).toEqual(
      webhooks().map((webhook) => ({
        ...webhook,
        ...(webhook.id === changed ? { active, modified: NOW, modifiedId: 'admin' } : {}),
      })),
    )
  })

  it.each(['', '/create', '/deleteAll', '/activateAll', '/deactivateAll'])(
    'returns 404 for webhooks%s of an unknown service',
    async (operation) => {
      const service = await startAll()
      const { status, body } = await post(
        service,
        `/services/Roads.FeatureServer/webhooks${operation}`,
        LEAST,
      )
      expect([status, body.messages]).toEqual([404, ['the service does not exist']])
    },
  )
})

describe('a path without the word webhooks', () => {
  it.each(['', 'City/'])('is equivalent to the path with it, below /services/%s', async (folder) => {
    const service = await startEmpty()
    const path = `/services/${folder}Parcels.FeatureServer`
    const { body } = await post(service, `${path}/create`, LEAST)
    const read = await get(`${service.url}${path}/${body.id}`)
    expect(read.text).toBe((await get(`${service.url}${path}/webhooks/${body.id}`)).text)
    expect((await get(`${service.url}${path}/${body.id}/notificationStatus`)).status).toBe(200)
    const edited = await post(service, `${path}/${body.id}/edit`, {
      ...LEAST,
      changeTypes: '*',
      name: 'other',
    })
    expect(edited.body).toMatchObject({ id: body.id, folderName: folder.replace('/', ''), name: 'other' })
    for (const operation of ['activateAll', 'deactivateAll'])
      expect((await post(service, `${path}/${operation}`, {})).status).toBe(200)
    expect((await post(service, `${path}/${body.id}/delete`, {})).text).toBe('{"status":"success"}')
    expect((await post(service, `${path}/deleteAll`, {})).status).toBe(200)
    expect((await get(service.url + path)).status).toBe(404)
  })
})

describe('the hosted webhooks of the organization', () => {
  const ALL = '/rest/admin/WebHooks'
  type Listed = { globalId: string; owner: string }[]
  const webhooks: Webhook[] = [
    seed(FEATURE, { id: 'w1', serviceName: 'Roads', ownerId: 'kim', created: 3, modified: 4 }),
    seed(FEATURE, { id: 'w2', folderName: 'City', ownerId: 'ann', created: 2, modified: 9 }),
    seed(FEATURE, { id: 'w3', name: 'three', ownerId: 'kim', created: 1, modified: 5 }),
    seed(JOB),
  ]
  const idsOf = (body: unknown) => (body as Listed).map(({ globalId }) => globalId)

  it('are listed by POST and GET, in any order, and by owner', async () => {
    const service = await start(webhooks)
    expect(idsOf(JSON.parse((await get(service.url + ALL)).text))).toEqual(['w2', 'w3', 'w1'])
    for (const [parameters, ids] of [
      [{ orderBy: 'owner' }, ['w2', 'w1', 'w3']],
      [{ orderBy: 'CreationDate' }, ['w3', 'w2', 'w1']],
      [{ orderBy: 'lastUpdateDate' }, ['w1', 'w3', 'w2']],
      [{ user: 'kim' }, ['w3', 'w1']],
      [{ user: 'none' }, []],
    ] as const)
      expect(idsOf((await post(service, ALL, { ...parameters })).body)).toEqual(ids)
    const byItem = idsOf((await post(service, ALL, { orderBy: 'serviceItemId' })).body)
    expect(byItem.toSorted()).toEqual(['w1', 'w2', 'w3'])
    for (const [name, value] of [
      ['orderBy', 'name'],
      ['resultRecordCount', '0'],
      ['resultRecordCount', '101'],
    ] as const)
      expect((await post(service, ALL, { [name]: value })).status).toBe(400)
  })

  it('have pages, of which all but the last say that there are more', async () => {
    const service = await start(
      Array.from({ length: 101 }, (_, index) => seed(FEATURE, { id: `w${index}`, name: `${index}` })),
    )
    const first = (await post(service, ALL, {})).body as unknown as [{ webhooks: Listed }]
    expect(first).toEqual([{ exceededTransferLimit: true, webhooks: expect.any(Array) }])
    expect(first[0].webhooks).toHaveLength(100)
    const page = { resultOffset: '99', resultRecordCount: '2' }
    expect(idsOf((await post(service, ALL, page)).body)).toEqual(['w99', 'w100'])
    expect((await post(service, ALL, { resultOffset: '101' })).body).toEqual([])
  })

  it('get the caller as their owner', async () => {
    const service = await start(webhooks, { auth: auth() })
    const token = await tokenOf(service, 'both')
    const parcels = '/rest/admin/services/Parcels/FeatureServer/WebHooks'
    const owners = () => service.snapshot().webhooks.map(({ ownerId }) => ownerId)
    const reassign = async (path: string, form = {}) =>
      (await post(service, `${path}/reassignOwner`, { token, ...form })).body
    const success = { status: 'success', success: true }
    expect(await reassign(parcels, { ownerFrom: 'kim' })).toEqual(success)
    expect(owners()).toEqual(['kim', 'ann', 'both', 'alice'])
    expect(await reassign(`${ALL}/w2`)).toEqual(success)
    expect(owners()).toEqual(['kim', 'both', 'both', 'alice'])
    expect(await reassign(ALL, { ownerFrom: 'kim' })).toEqual(success)
    expect(owners()).toEqual(['both', 'both', 'both', 'alice'])
    expect(await reassign(ALL)).toMatchObject({ error: { code: 400, message: 'ownerFrom is required' } })
    for (const path of [`${ALL}/${JOB.id}`, `${parcels}/w1`])
      expect(await reassign(path)).toMatchObject({ error: { code: 404 } })
  })
})
