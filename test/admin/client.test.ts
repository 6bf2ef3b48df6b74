import type { NewWebhook, Schedule, Webhook, WebhookChanges } from 'geohook/admin'
import { describe, expect, it } from 'vitest'
import {
  FLOW,
  KEY,
  listOf,
  membersOf,
  NOW,
  PRODUCTS,
  type Product,
  type Started,
  serviceOf,
  start,
  stored,
} from './support.ts'

const isPortal = (product: Product): boolean => product === 'portal'

/** The webhook that `stored` creates, as the client returns it. */
function expected(product: Product): object {
  const { contentType, payloadFormat, scheduleInfo, config, ...all } = stored(product)
  const { startAt: _, ...hosted } = scheduleInfo as { startAt?: number }
  const schedule = product === 'online' ? hosted : scheduleInfo
  return {
    product,
    id: product === 'online' ? expect.stringMatching(/^\d+$/) : all.id,
    service: serviceOf(product),
    name: 'edits',
    hookUrl: FLOW,
    changeTypes: all.changeTypes,
    active: true,
    key: KEY,
    created: new Date(all.created),
    modified: new Date(all.modified),
    owner: 'alice',
    ...(isPortal(product)
      ? { deactivation: { numberOfFailures: 7, daysInPast: 9 }, properties: { notebook: 'n1' } }
      : { contentType: product === 'online' ? undefined : contentType, payloadFormat, schedule }),
  }
}

/** Changes of every member that a product has. */
const changesOf = (product: Product) => ({
  name: 'renamed',
  hookUrl: 'http://127.0.0.1:443/x',
  key: 'another-key-2026',
  ...(isPortal(product)
    ? {
        changeTypes: ['/users', '/items'],
        deactivation: { numberOfFailures: 2, daysInPast: 3 },
        properties: { a: 1 },
      }
    : {
        changeTypes: ['FeaturesDeleted'],
        contentType: 'application/json',
        payloadFormat: 'json',
        schedule: { state: 'enabled' as const },
      }),
})

/** What the mock must have stored after {@link changesOf}. */
function afterChanges(product: Product, hookUrl: string): object {
  const before = stored(product)
  const { key: signatureKey, ...all } = changesOf(product)
  const { schedule, deactivation: deactivationPolicy, properties, ...others } = all as WebhookChanges
  return {
    ...before,
    ...others,
    signatureKey,
    hookUrl,
    modified: NOW,
    modifiedId: 'admin',
    scheduleInfo: { ...before.scheduleInfo, ...schedule },
    ...(isPortal(product) ? { config: { deactivationPolicy, properties } } : {}),
  }
}

const other = (product: Product) =>
  stored(product, { id: 'b0', name: 'other', active: false, signatureKey: '', changeTypes: ['*'] })

const startTwo = (product: Product): Promise<Started> =>
  start(product, { webhooks: [stored(product), other(product)] })

/** A portal asks a new payload URL whether it responds. */
const hookOf = ({ url }: Started): string => `${url}/hook/new`

/** The members that a result cannot compare. */
const notShown = (product: Product): string[] => (product === 'online' ? ['contentType', 'schedule'] : [])

const activeOf = ({ mock }: Started): boolean[] => mock.snapshot().webhooks.map(({ active }) => active)

describe.each(PRODUCTS)('the webhooks of %s', (product) => {
  it('lists them, and reads one by id and by name', async () => {
    const { webhooks } = await startTwo(product)
    const listed = await listOf(webhooks.list())
    expect(listed.map(membersOf)).toEqual([
      expected(product),
      {
        ...expected(product),
        id: product === 'online' ? expect.any(String) : 'b0',
        name: 'other',
        active: false,
        changeTypes: ['*'],
        // ArcGIS Online does not say whether an empty key means none.
        key: product === 'online' ? undefined : '',
      },
    ])
    const [{ id }, { id: otherId }] = listed as [Webhook, Webhook]
    for (const name of [id, 'edits']) expect(membersOf(await webhooks.get(name))).toEqual(expected(product))
    expect((await webhooks.get(otherId)).name).toBe('other')
  })

  it('creates a webhook with every member', async () => {
    const started = await start(product, { webhooks: isPortal(product) ? [] : [other(product)] })
    const given = { ...changesOf(product), hookUrl: hookOf(started), active: true }
    const { webhook, changed, adjusted, notCompared } = await started.webhooks.create(given as NewWebhook)
    expect(webhook).toMatchObject({ name: 'renamed', key: given.key, hookUrl: given.hookUrl, active: true })
    expect([adjusted, notCompared]).toEqual([[], notShown(product)])
    expect(changed).toEqual(expect.arrayContaining(['name', 'hookUrl', 'key', 'changeTypes', 'active']))
    expect(started.mock.snapshot().webhooks.at(-1)).toMatchObject({
      name: 'renamed',
      hookUrl: given.hookUrl,
      signatureKey: given.key,
      changeTypes: given.changeTypes,
      active: true,
    })
  })

  it('creates an inactive webhook, and one with nothing but its name and URL', async () => {
    const started = await start(product, { webhooks: [], services: [stored(product)].map(asService) })
    const hookUrl = hookOf(started)
    const { webhook } = await started.webhooks.create({ name: 'off', hookUrl, key: 'k-2026', active: false })
    expect(webhook.active).toBe(false)
    const least = await started.webhooks.create({ name: 'least', hookUrl })
    expect(least.webhook.changeTypes).toEqual(['*'])
    expect(activeOf(started)).toEqual([false, product !== 'online'])
  })

  it('edits every member', async () => {
    const started = await start(product)
    const hookUrl = hookOf(started)
    const changes = { ...changesOf(product), hookUrl }
    const result = await started.webhooks.edit('edits', changes)
    expect(started.mock.snapshot().webhooks).toEqual([afterChanges(product, hookUrl)])
    const seen = Object.keys(changes).filter((name) => product !== 'online' || name !== 'contentType')
    expect(new Set(result.changed)).toEqual(new Set(seen))
    expect(result.adjusted).toEqual([])
    expect(result.notCompared).toEqual(notShown(product))
  })

  it('an edit of one member keeps the others, also if the service resets what an edit omits', async () => {
    const webhooks = [stored(product)]
    for (const omitted of ['keep', 'reset'] as const) {
      const { mock, webhooks: client } = await start(product, { webhooks, like: { product, omitted } })
      const { changed } = await client.edit('edits', { name: 'renamed' })
      expect(changed).toEqual(['name'])
      const [{ modified, modifiedId, ...after }] = mock.snapshot().webhooks as [ReturnType<typeof stored>]
      const { modified: _, modifiedId: __, ...before } = stored(product)
      // The client does not see these two members of ArcGIS Online, so it cannot send them.
      const lost =
        product === 'online' && omitted === 'reset'
          ? {
              contentType: 'application/json',
              scheduleInfo: { ...before.scheduleInfo, startAt: before.created },
            }
          : {}
      expect(after).toEqual({ ...before, ...lost, name: 'renamed' })
    }
  })

  it('sends a payload URL as it is written', async () => {
    const { mock, webhooks, url } = await start(product)
    const { port } = new URL(url)
    const hookUrl = `HTTP://127.0.0.1:${port}/hook/./%7Ea//b?x=%2f`
    const { adjusted } = await webhooks.edit('edits', { hookUrl })
    expect([mock.snapshot().webhooks[0]?.hookUrl, adjusted]).toEqual([hookUrl, []])
  })

  it('switches one webhook and all of them', async () => {
    const started = await startTwo(product)
    const { webhooks } = started
    expect((await webhooks.deactivate('edits')).changed).toEqual(['active'])
    expect(activeOf(started)).toEqual([false, false])
    await webhooks.activate('other', { key: '' })
    expect(activeOf(started)).toEqual([false, true])
    await webhooks.activateAll()
    expect(activeOf(started)).toEqual([true, true])
    await webhooks.deactivateAll()
    expect(activeOf(started)).toEqual([false, false])
    const keys = started.mock.snapshot().webhooks.map(({ signatureKey }) => signatureKey)
    expect(keys).toEqual([KEY, ''])
  })

  it('deletes one webhook, by its name or its id, and all of them', async () => {
    const { mock, webhooks } = await start(product, {
      webhooks: ['a', 'b', 'c', 'd'].map((name) => stored(product, { id: `id-${name}`, name })),
    })
    const names = (): string[] => mock.snapshot().webhooks.map(({ name }) => name)
    await webhooks.delete('b')
    expect(names()).toEqual(['a', 'c', 'd'])
    await webhooks.delete((await webhooks.get('c')).id)
    expect(names()).toEqual(['a', 'd'])
    await webhooks.deleteAll()
    expect(names()).toEqual([])
  })

  it('lists recorded deliveries', async () => {
    const started = await start(product)
    const { mock, webhooks, url } = started
    expect(await webhooks.failures('edits')).toEqual([])
    const { id, serviceName } = stored(product)
    const hookUrl = `${url}/hook/500`
    mock.restore({ webhooks: [stored(product, { id, hookUrl })] })
    await mock.trigger({ serviceName, changeType: isPortal(product) ? '/items/add' : 'FeaturesCreated' })
    const response = /online|portal/.test(product) ? { response: 'no room' } : {}
    expect(await webhooks.failures('edits')).toEqual([{ at: new Date(NOW), isDelivered: false, ...response }])
  })
})

const asService = ({ serviceName, serviceType }: ReturnType<typeof stored>) => ({ serviceName, serviceType })

it('lists the recorded deliveries of a portal, page by page, also those that succeeded', async () => {
  const { mock, webhooks, url, sent } = await start('portal')
  mock.restore({ webhooks: [stored('portal', { hookUrl: `${url}/hook` })] })
  for (let index = 0; index < 101; index++)
    await mock.trigger({ serviceName: 'P1', changeType: '/items/add' })
  const deliveries = await webhooks.failures('edits')
  expect(deliveries).toEqual(Array(101).fill({ at: new Date(NOW), isDelivered: true, response: 'no room' }))
  expect(sent.map(({ form }) => form.start).filter(Boolean)).toEqual(['1', '1', '101'])
})

describe('lists beyond one service', () => {
  const many = (product: Product, count: number) =>
    Array.from({ length: count }, (_, index) =>
      stored(product, {
        id: `w${index}`,
        name: `n${index}`,
        ...(isPortal(product) ? {} : { serviceName: `S${index % 3}`, folderName: index % 2 ? 'City' : '' }),
        ownerId: index % 2 ? 'alice' : 'bob',
      }),
    )

  it.each(PRODUCTS)('lists all webhooks of %s, page by page', async (product) => {
    const { admin, sent } = await start(product, { webhooks: many(product, 203) })
    const listed = await listOf(admin.list())
    expect(new Set(listed.map(({ name }) => name)).size).toBe(203)
    if (!isPortal(product))
      expect(new Set(listed.map(({ service }) => service))).toEqual(
        new Set(['', 'City/'].flatMap((folder) => [0, 1, 2].map((n) => `${folder}S${n}.FeatureServer`))),
      )
    const lists = { service: 1, enterprise: 1, online: 3, portal: 4 } // a portal is first asked for its id
    expect(sent.length).toBe(lists[product])
  })

  it('lists the webhooks of an owner in ArcGIS Online', async () => {
    const { admin } = await start('online', { webhooks: many('online', 4) })
    const listed = await listOf(admin.list({ owner: 'alice' }))
    expect(listed.map(({ name, owner }) => [name, owner])).toEqual([
      ['n3', 'alice'],
      ['n1', 'alice'],
    ])
  })

  it.each(['enterprise', 'portal'] as const)('lists the services of a portal, from %s', async (product) => {
    const webhooks = many('enterprise', 4)
    const { admin: own, url } = await start(product, { webhooks })
    const { admin } = await start('enterprise', { webhooks: [], admin: { portal: `${url}/sharing/rest` } })
    const listed = await listOf((isPortal(product) ? own : admin).listServiceWebhooks({ owner: 'bob' }))
    expect(listed.map(({ name, service, product: found }) => [name, service, found])).toEqual([
      ['n0', 'S0.FeatureServer', 'enterprise'],
      ['n2', 'S2.FeatureServer', 'enterprise'],
    ])
    expect((await listOf(admin.listServiceWebhooks())).length).toBe(4)
  })

  it('has the webhooks of the portal of a server', async () => {
    const portal = await start('portal')
    const { admin } = await start('enterprise', { admin: { portal: `${portal.url}/portal/../home` } })
    expect((await listOf(admin.portal().list())).map(({ product }) => product)).toEqual(['portal'])
    expect((await listOf(admin.list())).map(({ product }) => product)).toEqual(['enterprise'])
  })
})

describe('settings', () => {
  const ALL = { attempts: 3, timeoutInSeconds: 10, pauseInSeconds: 5, numberOfFailures: 5, daysInPast: 5 }
  const { timeoutInSeconds, daysInPast, ...hosted } = ALL
  const { numberOfFailures, daysInPast: _, ...portal } = ALL
  const SETTINGS = { service: ALL, enterprise: ALL, online: hosted, portal } as const

  it.each(PRODUCTS)('reads and changes those of %s', async (product) => {
    const settings = { notificationAttempts: 3, notificationElapsedTimeInSeconds: 5, numberOfFailures: 5 }
    const { admin, mock } = await start(product, { settings })
    expect(await admin.settings()).toEqual(SETTINGS[product])
    const changes = { attempts: 2, pauseInSeconds: 7 }
    expect(await admin.editSettings(changes)).toEqual({ ...SETTINGS[product], ...changes })
    expect(mock.settings).toMatchObject({
      notificationAttempts: 2,
      notificationElapsedTimeInSeconds: 7,
      notificationTimeOutInSeconds: 10,
      numberOfFailures: 5,
    })
  })
})

it('takes over the webhooks of another user in ArcGIS Online', async () => {
  const webhooks = ['alice', 'carol', 'alice'].map((ownerId, index) =>
    stored('online', { id: `w${index}`, name: `n${index}`, ownerId }),
  )
  const { admin, mock } = await start('online', { webhooks })
  await admin.takeOver({ from: 'alice' })
  expect(mock.snapshot().webhooks.map(({ ownerId }) => ownerId)).toEqual(['admin', 'carol', 'admin'])
})

it.each(['service', 'enterprise', 'online'] as const)(
  '%s: changed names a schedule that create or an edit sets',
  async (product) => {
    const { webhooks } = await start(product, { webhooks: [], services: [stored(product)].map(asService) })
    const schedule: Schedule = { recurrenceInfo: { interval: 40, frequency: 'second' } }
    const created = await webhooks.create({ name: 'edits', hookUrl: FLOW, key: KEY, schedule })
    expect(created.changed).toContain('schedule')
    expect((await webhooks.edit('edits', { key: KEY, schedule })).changed).toEqual([])
    const named = await webhooks.edit('edits', { key: KEY, schedule: { name: 'often' } })
    expect(named.changed).toEqual(['schedule'])
  },
)

it('a start time that ArcGIS Online does not show is adjusted, not refused', async () => {
  const { webhooks, mock } = await start('online')
  const { adjusted } = await webhooks.edit('edits', { key: KEY, schedule: { startAt: 1_000_000 } })
  expect(adjusted.map(({ member }) => member)).toEqual(['schedule'])
  expect(mock.snapshot().webhooks[0]?.scheduleInfo).toMatchObject({ startAt: 1_000_000 })
})
