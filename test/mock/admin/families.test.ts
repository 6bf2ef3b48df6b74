import { createManualClock, type MockService, type Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { send } from '../../helpers/http.ts'
import { capture, FEATURE, NOWHERE, post, same, seed, start } from '../support.ts'
import { auth, get, statusOf, tokenOf, write } from './support.ts'

type Json = Record<string, unknown>

/** The paths of one service, and how its responses differ. */
interface Family {
  /** Path of the webhooks of a service. */
  of(folderName: string, serviceName: string): string
  idName: 'id' | 'globalId'
  list(body: unknown): Json[]
  status: Json
  /** The response of `activateAll` and `deactivateAll`. */
  switched: Json
  /** The service in a webhook. */
  service(folderName: string): Json
  failures(body: unknown): unknown
  code(body: unknown): unknown
}

const folder = (name: string): string => (name === '' ? '' : `${name}/`)
const listed = (body: unknown): Json[] => (body as { webhooks: Json[] }).webhooks
const failed = (body: unknown): unknown => (body as Json).webhookNotificationStatus

const SERVER = {
  idName: 'id',
  list: listed,
  status: { status: 'success' },
  switched: { status: 'success' },
  service: (folderName: string) => ({ folderName, serviceName: 'Parcels', serviceType: 'FeatureServer' }),
  failures: failed,
  code: (body: unknown) => (body as Json).code,
} as const

const FAMILIES: Record<string, Family> = {
  specification: {
    ...SERVER,
    of: (folderName, name) => `/services/${folder(folderName)}${name}.FeatureServer/webhooks`,
  },
  administrator: {
    ...SERVER,
    of: (folderName, name) => `/admin/services/${folder(folderName)}${name}.FeatureServer/webhooks`,
  },
  hosted: {
    of: (folderName, name) => `/rest/admin/services/${folder(folderName)}${name}/FeatureServer/WebHooks`,
    idName: 'globalId',
    list: (body) => body as Json[],
    status: { status: 'success', success: true },
    switched: { name: 'WebHooks', serviceType: 'FeatureServer', status: 'success', success: true },
    service: (folderName) => ({
      serviceUrl: expect.stringContaining(`/rest/services/${folder(folderName)}Parcels/FeatureServer`),
    }),
    failures: (body) => failed((body as unknown[])[0]),
    code: (body) => (body as { error: Json }).error.code,
  },
}

const families = Object.entries(FAMILIES).flatMap(([name, family]) =>
  ['', 'City'].map((folderName) => ({
    name,
    folderName,
    path: family.of(folderName, 'Parcels'),
    family,
  })),
)

const json = async (service: MockService, path: string): Promise<{ status: number; body: unknown }> => {
  const { status, text } = await get(`${service.url}${path}?f=json`)
  return { status, body: JSON.parse(text) }
}

const idsOf = ({ list, idName }: Family, body: unknown): unknown[] =>
  list(body).map((webhook) => webhook[idName])

describe.each(families)(
  'the paths of the $name family, in the folder "$folderName"',
  ({ folderName, path, family }) => {
    const { idName } = family
    const webhooks: Webhook[] = [
      seed(FEATURE, { folderName, id: 'one', name: 'one' }),
      seed(FEATURE, { folderName, id: 'two', name: 'two', active: false }),
      seed(FEATURE, { folderName: 'Other', id: 'other' }),
    ]

    it('list and read the webhooks of the service', async () => {
      const service = await start(webhooks)
      for (const answer of [await json(service, path), await post(service, path, {})]) {
        expect(answer.status).toBe(200)
        expect(idsOf(family, answer.body)).toEqual(['one', 'two'])
      }
      const { status, body } = await json(service, `${path}/one`)
      expect([status, (body as Json)[idName], (body as Json).name]).toEqual([200, 'one', 'one'])
    })

    it('create, edit and delete a webhook', async () => {
      const service = await start(webhooks)
      const created = await post(service, `${path}/create`, { name: 'new', hookUrl: NOWHERE })
      expect(created.body).toMatchObject({
        name: 'new',
        ...family.service(folderName),
        ...family.status,
      })
      const id = created.body[idName] as string
      const edited = await post(service, `${path}/${id}/edit`, {
        name: 'newer',
        hookUrl: NOWHERE,
        changeTypes: 'FeaturesCreated',
      })
      expect(edited.body).toMatchObject({ [idName]: id, name: 'newer', ...family.status })
      expect(service.snapshot().webhooks.find((webhook) => webhook.id === id)?.changeTypes).toEqual([
        'FeaturesCreated',
      ])
      const deleted = await post(service, `${path}/${id}/delete`, {})
      expect([deleted.status, deleted.body]).toEqual([200, family.status])
      expect((await json(service, `${path}/${id}`)).status).toBe(404)
    })

    it.each([
      ['activateAll', [true, true]],
      ['deactivateAll', [false, false]],
      ['deleteAll', []],
    ])('%s changes only the webhooks of the service', async (operation, expected) => {
      const service = await start(webhooks)
      const { status, body } = await post(service, `${path}/${operation}`, {})
      expect([status, body]).toEqual([200, operation === 'deleteAll' ? family.status : family.switched])
      const after = service.snapshot().webhooks
      const of = (name: string): boolean[] =>
        after.filter((webhook) => webhook.folderName === name).map(({ active }) => active)
      expect([of(folderName), of('Other')]).toEqual([expected, [true]])
    })

    it('list failed deliveries', async () => {
      const receiver = await capture((_req, res) => void res.writeHead(500).end('no room'))
      const clock = createManualClock(1800000000000)
      const service = await start([seed(FEATURE, { folderName, hookUrl: receiver.url })], { clock })
      await service.trigger({ folderName, serviceName: 'Parcels', changeType: 'FeaturesCreated' })
      const { status, body } = await json(service, `${path}/${FEATURE.id}/notificationStatus`)
      const expected =
        idName === 'id'
          ? { invoked: false, invokedTimestamp: 1800000000000 }
          : { invoked: 'false', invokedTimestamp: '1800000000000', serverResponse: 'no room' }
      expect([status, family.failures(body)]).toEqual([200, [expected]])
    })

    it.each([
      ['an unknown webhook', 404, (path: string) => `${path}/none`],
      ['a webhook of another service', 404, (path: string) => `${path}/other/edit`],
      ['an unknown operation', 404, (path: string) => `${path}/one/rename`],
      ['another word', 404, (path: string) => path.replace(/web/i, 'Wab')],
      ['another service', 404, (path: string) => path.replace('Parcels', 'Roads')],
    ])('%s: %i', async (_, status, change) => {
      const service = await start(webhooks)
      const before = service.snapshot()
      const answer = await post(service, change(path), same(FEATURE))
      expect([answer.status, family.code(answer.body)]).toEqual([status, status])
      expect(service.snapshot()).toEqual(before)
    })

    it.each(['create', 'one/edit', 'one/delete', 'deleteAll', 'activateAll', 'deactivateAll'])(
      '%s accepts POST only',
      async (operation) => {
        const service = await start(webhooks)
        const before = service.snapshot()
        for (const method of ['GET', 'PUT', 'DELETE'])
          expect((await send(`${service.url}${path}/${operation}`, { method })).status).toBe(405)
        expect(service.snapshot()).toEqual(before)
      },
    )

    it('requires a token and the privilege of the service', async () => {
      const service = await start(webhooks, { auth: auth() })
      expect(family.code((await json(service, path)).body)).toBe(499)
      for (const [user, status] of [
        ['fs', 200],
        ['gp', 403],
      ] as const) {
        const authorization = `Bearer ${await tokenOf(service, user)}`
        expect((await get(`${service.url}${path}?f=json`, { authorization })).status).toBe(status)
      }
    })
  },
)

describe('hosted paths', () => {
  const HOSTED = '/rest/admin/services/Parcels/FeatureServer/WebHooks'

  it('answer with the documented members', async () => {
    const service = await start([
      seed(FEATURE, { changeTypes: ['*'] }),
      seed(FEATURE, { id: 'b', name: 'b' }),
    ])
    const [webhook, other] = (await post(service, HOSTED, {})).body as unknown as [Json, Json]
    expect(Object.entries(webhook)).toEqual([
      ['name', 'parcel edits'],
      ['owner', 'alice'],
      ['id', expect.any(Number)],
      ['globalId', FEATURE.id],
      ['tenantId', 'myorgId'],
      ['serviceId', other.serviceId],
      ['active', true],
      ['hookUrl', NOWHERE],
      ['serviceUrl', `${service.url}/rest/services/Parcels/FeatureServer`],
      ['signatureKey', FEATURE.signatureKey],
      ['format', 'json'],
      ['serverGen', expect.any(Number)],
      ['createdTime', FEATURE.created],
      ['lastUpdatedTime', FEATURE.modified],
      ['changeTypes', ['All']],
      [
        'scheduleInfo',
        { name: 'often', state: 'enabled', recurrenceInfo: { interval: 30, frequency: 'second' } },
      ],
    ])
    expect([Number.isSafeInteger(webhook.id), webhook.id === other.id]).toEqual([true, false])
  })

  it('accept the number of a webhook, which it keeps in every mock', async () => {
    const service = await start([seed(FEATURE)])
    const { id } = (await post(service, `${HOSTED}/${FEATURE.id}`, {})).body
    const form = { ...same(FEATURE), changeTypes: 'All' }
    const { body } = await post(service, `${HOSTED}/${id}/edit`, form)
    expect(body).toMatchObject({ id, changeTypes: ['All'], status: 'success', success: true })
    expect(service.snapshot().webhooks[0]?.changeTypes).toEqual(['*'])
    const restarted = await start(service.snapshot().webhooks)
    expect((await post(restarted, `${HOSTED}/${id}/delete`, {})).body).toMatchObject({ success: true })
    expect(restarted.snapshot().webhooks).toEqual([])
    const path = `/services/Parcels.FeatureServer/webhooks/${id}`
    expect((await post(service, path, {})).status, 'the specification has no numbers').toBe(404)
  })
})

it.each(['webhooks', 'WebHooks', 'webHooks'])('hosted paths accept the word %s', async (word) => {
  const service = await start([seed(FEATURE)])
  const { status } = await get(`${service.url}/rest/admin/services/Parcels/FeatureServer/${word}?f=json`)
  expect(status).toBe(200)
})

it.each([
  '/rest/admin/services/Parcels/featureserver/WebHooks',
  '/rest/admin/services/Parcels/GPServer/WebHooks',
  '/rest/admin/services/Parcels.FeatureServer/WebHooks',
  '/services/Parcels.FeatureServer/WebHooks',
  '/admin/services/Parcels.FeatureServer',
  '/admin/services/Parcels.FeatureServer/w1/edit',
])('%s is not a path of the administration', async (path) => {
  const service = await start([seed(FEATURE)])
  expect(statusOf(await write(service, `POST ${path}`))).toBe(404)
})
