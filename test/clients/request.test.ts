import {
  ApplicationCredentialsManager,
  ArcGISIdentityManager,
  type IAuthenticationManager,
  type IParams,
  request,
} from '@esri/arcgis-rest-request'
import { describe, expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import {
  APP,
  advanceBoth,
  asApp,
  asUser,
  PARCELS,
  PRODUCTS,
  receiveFrom,
  startLike,
  USER,
  WEBHOOKS,
} from './support.ts'

const HOUR = 3_600_000

/** The members of responses that these tests read. */
interface Json {
  [name: string]: unknown
  id?: string
  globalId?: string
  name?: string
  webhooks?: Json[]
  webhookNotificationStatus?: Json[]
}

/** A payload URL where no receiver listens. A webhook that is not active needs none. */
const NOWHERE = 'http://127.0.0.1:9/hook'

/** The products whose errors have HTTP status 200, so that this client reads their messages. */
const READABLE = PRODUCTS.filter((like) => like !== 'service')

/** Calls of the administration of webhooks, made by the client. */
function administer(url: string, authentication: IAuthenticationManager) {
  const call = (path: string, params: IParams = {}): Promise<Json> =>
    request(url + path, { authentication, params })
  return {
    call,
    create: (params: IParams) => call('/create', { changeTypes: '*', ...params }),
    list: async () => {
      const answer = await call('')
      return Array.isArray(answer) ? (answer as Json[]) : (answer.webhooks ?? [])
    },
  }
}

const idOf = ({ globalId, id }: Json): string => (globalId ?? id) as string
const requestError = (message: RegExp, code: unknown) =>
  expect.objectContaining({ name: 'ArcGISRequestError', message: expect.stringMatching(message), code })

describe.each(PRODUCTS)('a mock like %s', (like) => {
  const start = () => startLike(like)

  it('signs in an application, which gets a new token when the old one has expired', async () => {
    const mock = await start()
    const app = asApp(mock)
    const webhooks = administer(mock.url + WEBHOOKS[like], app)
    expect(await webhooks.list()).toEqual([])
    const first = app.token
    await advanceBoth(mock.clock, 15 * 24 * HOUR)
    expect(await webhooks.list()).toEqual([])
    expect(app.token).not.toBe(first)
    expect(app.expires?.getTime()).toBeGreaterThan(Date.now())
  })

  it.each([
    ['an unknown application', { clientId: 'other' }],
    ['a wrong secret', { clientSecret: 'other' }],
  ])('rejects %s', async (_, wrong) => {
    const { portal, url } = await start()
    const app = new ApplicationCredentialsManager({ ...APP, ...wrong, portal })
    await expect(app.getToken(url)).rejects.toMatchObject({ name: 'ArcGISTokenRequestError' })
  })

  it('administers webhooks from create to delete', async () => {
    const mock = await start()
    const { service, url } = mock
    const { call, create, list } = administer(url + WEBHOOKS[like], asApp(mock))
    const created = await create({ name: 'edits', hookUrl: NOWHERE, signatureKey: KEY, active: false })
    const path = `/${idOf(created)}`
    await create({ name: 'other', hookUrl: NOWHERE, active: false })
    const stored = () => service.snapshot().webhooks.find(({ name }) => name !== 'other')

    expect((await list()).map(({ name }) => name)).toEqual(['edits', 'other'])
    expect(await call(path)).toMatchObject({
      name: 'edits',
      hookUrl: NOWHERE,
      changeTypes: [like === 'online' ? 'All' : '*'],
    })
    expect(stored()).toMatchObject({ name: 'edits', hookUrl: NOWHERE, signatureKey: KEY, active: false })

    await call(`${path}/edit`, {
      name: 'new name',
      hookUrl: NOWHERE,
      changeTypes: ['FeaturesCreated', 'FeaturesDeleted'],
    })
    expect(stored()).toMatchObject({ name: 'new name', changeTypes: ['FeaturesCreated', 'FeaturesDeleted'] })

    const active = () => service.snapshot().webhooks.map(({ active }) => active)
    expect(await call('/deactivateAll')).toMatchObject({ status: 'success' })
    expect(active()).toEqual([false, false])

    expect(await call(`${path}/delete`)).toMatchObject({ status: 'success' })
    expect((await list()).map(({ name }) => name)).toEqual(['other'])
    expect(await call('/deleteAll')).toMatchObject({ status: 'success' })
    expect(await list()).toEqual([])
  })

  it('activates and deactivates all webhooks', async () => {
    const mock = await start()
    const { url } = await receiveFrom(like)
    const { call, create } = administer(mock.url + WEBHOOKS[like], asApp(mock))
    const active = () => mock.service.snapshot().webhooks.map(({ active }) => active)
    await create({ name: 'one', hookUrl: url, signatureKey: KEY, active: true })
    await create({ name: 'two', hookUrl: url, signatureKey: KEY, active: false })
    expect(active()).toEqual([true, false])
    expect(await call('/activateAll')).toMatchObject({ status: 'success' })
    expect(active()).toEqual([true, true])
    expect(await call('/deactivateAll')).toMatchObject({ status: 'success' })
    expect(active()).toEqual([false, false])
  })

  it('sends what a geohook receiver for it accepts', async () => {
    const mock = await start()
    const receiver = await receiveFrom(like)
    const { create } = administer(mock.url + WEBHOOKS[like], asApp(mock))
    await create({ name: 'edits', hookUrl: receiver.url, signatureKey: KEY, active: true })
    await mock.service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    expect(receiver.deliveries.map(({ changeTypes }) => changeTypes)).toEqual([['FeaturesCreated']])
  })

  it('shows the failures of a webhook', async () => {
    const mock = await startLike(like, { settings: { notificationAttempts: 1 } })
    const { create, call } = administer(mock.url + WEBHOOKS[like], asApp(mock))
    const receiver = await receiveFrom(like)
    const created = await create({ name: 'edits', hookUrl: receiver.url, signatureKey: KEY, active: true })
    const trigger = () => mock.service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    // The first delivery waits for the handshake of a mock like online.
    await trigger()
    await receiver.close()
    await trigger()
    // Hosted services answer with a list, and write the values as text.
    const [answer] = [await call(`/${idOf(created)}/notificationStatus`)].flat()
    const failures = answer?.webhookNotificationStatus?.map((failure) => [
      String(failure.invoked),
      Number(failure.invokedTimestamp),
    ])
    expect(failures).toEqual([['false', mock.clock.now()]])
  })
})

describe.each([
  ['service', '/services/webhooks/settings'],
  ['enterprise', '/admin/services/webhooks/settings'],
] as const)('a mock like %s', (like, path) => {
  it('shows and changes its delivery settings', async () => {
    const mock = await startLike(like)
    const { call } = administer(mock.url + path, asApp(mock))
    expect(await call('')).toMatchObject({ notificationAttempts: 3 })
    expect(await call('', { notificationAttempts: 2 })).toMatchObject({ notificationAttempts: 2 })
    expect(mock.service.settings.notificationAttempts).toBe(2)
  })
})

describe('errors', () => {
  const missing = '00000000-0000-4000-8000-000000000000'

  it.each(READABLE)('of a mock like %s arrive with their messages', async (like) => {
    const mock = await startLike(like)
    const { call, create } = administer(mock.url + WEBHOOKS[like], asApp(mock))
    await expect(create({ name: 'edits' })).rejects.toEqual(requestError(/hookUrl is required/, 400))
    await create({ name: 'edits', hookUrl: NOWHERE, active: false })
    const again = create({ name: 'edits', hookUrl: NOWHERE, active: false })
    await expect(again).rejects.toEqual(requestError(/name is taken/, 400))
    await expect(call(`/${missing}`)).rejects.toEqual(requestError(/./, 404))
    await expect(call(`/${missing}/edit`)).rejects.toEqual(requestError(/./, 404))
  })

  it.each(READABLE)('of a mock like %s say that a token is missing or invalid', async (like) => {
    const { url } = await startLike(like)
    const list = (authentication?: string) =>
      request(url + WEBHOOKS[like], { suppressWarnings: true, ...(authentication && { authentication }) })
    await expect(list()).rejects.toMatchObject({ name: 'ArcGISAuthError', code: 499 })
    await expect(list('invalid')).rejects.toMatchObject({ name: 'ArcGISAuthError', code: 498 })
  })

  it('of a mock like service lose their messages in this client, because they have an HTTP status', async () => {
    const mock = await startLike('service')
    const { create } = administer(mock.url + WEBHOOKS.service, asApp(mock))
    await expect(create({ name: 'edits' })).rejects.toEqual(
      requestError(/^HTTP 400: Bad Request$/, 'HTTP 400'),
    )
  })
})

describe.each(['enterprise', 'online'] as const)('a user of a mock like %s', (like) => {
  it('signs in to the portal', async () => {
    const mock = await startLike(like)
    const user = await asUser(mock)
    expect(user.username).toBe(USER.username)
    expect(await user.getUser()).toMatchObject({ username: USER.username })
    expect(await user.getPortal()).toMatchObject({ id: expect.any(String) })
    expect(user.tokenExpires?.getTime()).toBeGreaterThan(Date.now())
  })

  it('cannot sign in with a wrong password', async () => {
    const { portal } = await startLike(like)
    const signIn = ArcGISIdentityManager.signIn({ ...USER, password: 'wrong', portal })
    await expect(signIn).rejects.toMatchObject({
      name: 'ArcGISTokenRequestError',
      message: expect.stringMatching(/Invalid username or password/),
    })
  })

  it('uses the server of the portal', async () => {
    const mock = await startLike(like)
    const authentication = await asUser(mock)
    expect(await request(mock.url + PARCELS, { authentication })).toMatchObject({ layers: expect.any(Array) })
    expect(await administer(mock.url + WEBHOOKS.online, authentication).list()).toEqual([])
  })

  it('gets a new token from the portal when the old one has expired', async () => {
    const mock = await startLike(like)
    const authentication = await asUser(mock)
    const { token } = authentication
    // The client does not know that its token has expired: the service rejects it, and the client gets another.
    await mock.clock.advance(15 * 24 * HOUR)
    expect(await request(`${mock.portal}/community/self`, { authentication })).toMatchObject({
      username: USER.username,
    })
    expect(authentication.token).not.toBe(token)
  })

  it('gets a new token for the server when the old one has expired', async () => {
    const mock = await startLike(like)
    const authentication = await asUser(mock)
    const { call } = administer(mock.url + PARCELS, authentication)
    const first = await authentication.getToken(mock.url + PARCELS)
    await call('')
    await advanceBoth(mock.clock, 15 * 24 * HOUR)
    expect(await call('')).toMatchObject({ layers: expect.any(Array) })
    expect(await authentication.getToken(mock.url + PARCELS)).not.toBe(first)
  })
})

describe.each(PRODUCTS)('a user of the server of a mock like %s, without a portal', (like) => {
  const start = async () => {
    const mock = await startLike(like)
    const server = `${mock.url}/rest/services`
    const authentication = new ArcGISIdentityManager({ ...USER, server })
    // This client asks a server for a token with user name and password only here, not at the first request.
    await authentication.refreshCredentials()
    return { ...mock, authentication }
  }

  it('gets a token', async () => {
    const { url, authentication } = await start()
    expect(await request(url + PARCELS, { authentication })).toMatchObject({ layers: expect.any(Array) })
  })

  it('gets a new token when the old one has expired', async () => {
    const { url, clock, authentication } = await start()
    await request(url + PARCELS, { authentication })
    await advanceBoth(clock, 15 * 24 * HOUR)
    expect(await request(url + PARCELS, { authentication })).toMatchObject({ layers: expect.any(Array) })
  })
})

describe('the webhooks of an organization', () => {
  it('are administered from create to delete', async () => {
    const mock = await startLike('portal')
    const receiver = await receiveFrom('portal')
    const { call } = administer(`${mock.portal}/portals/self/webhooks`, await asUser(mock))
    const config = { deactivationPolicy: { numberOfFailures: 5, daysInPast: 5 } }
    const url = receiver.url
    const created = await call('/createWebhook', {
      name: 'items',
      url,
      secret: KEY,
      config,
      changes: 'allChanges',
    })
    expect(created).toMatchObject({ success: true })
    const { webhooks = [] } = await call('')
    expect(webhooks).toMatchObject([{ name: 'items', payloadUrl: url, isActive: true }])
    const path = `/${webhooks[0]?.id}`
    expect(await call(path)).toMatchObject({ name: 'items', payloadUrl: url, config })
    expect(await call(`${path}/deactivate`)).toMatchObject({ success: true })
    expect(await call(path)).toMatchObject({ isActive: false })
    expect(await call(`${path}/activate`)).toMatchObject({ success: true })
    expect(await call(path)).toMatchObject({ isActive: true })
    const changes = { name: 'all items', url, config, events: '/items' }
    expect(await call(`${path}/update`, changes)).toMatchObject({ success: true })
    expect(await call(path)).toMatchObject({ name: 'all items', events: ['/items'] })
    expect(await call('/settings/update', { notificationAttempts: 2 })).toMatchObject({ success: true })
    expect(await call('/settings')).toMatchObject({ notificationAttempts: 2 })
    expect(await call(`${path}/delete`)).toMatchObject({ success: true })
    expect((await call('')).webhooks).toEqual([])
  })

  it('have errors with messages', async () => {
    const mock = await startLike('portal')
    const { call } = administer(`${mock.portal}/portals/self/webhooks`, await asUser(mock))
    await expect(call('/createWebhook', { name: 'items' })).rejects.toEqual(
      requestError(/url is required/, 400),
    )
    await expect(call('/4711')).rejects.toEqual(requestError(/./, 404))
  })
})
