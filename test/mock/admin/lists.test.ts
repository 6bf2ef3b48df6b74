import { createManualClock, type MockService, type Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FEATURE, JOB, pathOf, post, seed, start } from '../support.ts'
import { BUFFER, fieldsOf, get, LEAST, LISTED_FIELDS, NOW, PARCELS, startEmpty } from './support.ts'

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
