import { createAdmin, type DeliverySettings, type Webhook } from 'geohook/admin'
import { describe, expect, it } from 'vitest'
import { errorOf, KEY, listOf, PRODUCTS, type Product, type Sent, start, startFixed } from './support.ts'

const BASIC = { id: '1', name: 'n', active: true, isActive: true }

const isWrite = ({ path }: Sent): boolean => /\/(edit|update|delete)$/.test(path)

it.each(PRODUCTS)('%s: a name that is not text deletes and changes nothing', async (product) => {
  const { webhooks, mock } = await start(product)
  const before = mock.snapshot()
  for (const name of [undefined, null, '', 9] as unknown as string[])
    for (const run of [() => webhooks.delete(name), () => webhooks.edit(name, { name: 'x', key: KEY })])
      await expect(run()).rejects.toMatchObject({ code: 'config_invalid' })
  expect(mock.snapshot()).toEqual(before)
})

it('a webhook of another service or product, and a copy from JSON, is refused', async () => {
  const { admin, webhooks, mock, sent } = await start('enterprise')
  const webhook = await webhooks.get('edits')
  const before = mock.snapshot()
  sent.length = 0
  for (const [client, given] of [
    [admin.service('Other.FeatureServer'), webhook],
    [webhooks, { ...webhook, product: 'service' }],
    [webhooks, { ...webhook, raw: undefined }],
    [webhooks, { ...webhook, modified: 'lately' }],
    [webhooks, JSON.parse(JSON.stringify(webhook))],
  ] as [typeof webhooks, Webhook][]) {
    const { activate, deactivate, edit, failures, get } = client
    const change = (name: Webhook) => edit(name, { key: KEY })
    const calls = [activate, deactivate, client.delete, failures, get, change]
    for (const call of calls) await expect(call(given)).rejects.toMatchObject({ code: 'config_invalid' })
  }
  expect([mock.snapshot(), sent]).toEqual([before, []])
})

it('a webhook whose service is written in another case is accepted', async () => {
  const place = { serviceName: 'PARCELS', serviceType: 'FeatureServer' }
  const { webhooks } = await startFixed('enterprise', { ...BASIC, ...place })
  const webhook = await webhooks.get('n')
  expect([webhook.service, (await webhooks.get(webhook)).id]).toEqual(['PARCELS.FeatureServer', '1'])
})

it.each<[seen: object, now: object, code?: string]>([
  [{}, { modified: 5, signatureKey: KEY }],
  [{ modified: 5 }, { modified: undefined }],
  [{ modified: 5 }, { modified: 6 }, 'admin_conflict'],
  [{ hookUrl: 'https://a.example' }, { hookUrl: 'https://a.example/' }, 'admin_conflict'],
  [{ scheduleInfo: { startAt: 1 } }, { scheduleInfo: { startAt: 2 } }, 'admin_conflict'],
])('compares a webhook that was listed with %j, and now has %j', async (seen, now, expected) => {
  const { webhooks } = await startFixed('enterprise', { ...BASIC, ...seen }, now)
  const [webhook] = await listOf(webhooks.list())
  const { code } = await webhooks.edit(webhook as Webhook, {}).catch((error) => error)
  expect(code).toBe(expected)
})

it('two edits at once lose nothing', async () => {
  const { webhooks, mock } = await start('enterprise')
  const hookUrl = 'https://other.example/hook'
  await Promise.all([webhooks.edit('edits', { key: 'a new key' }), webhooks.edit('edits', { hookUrl })])
  expect(mock.snapshot().webhooks[0]).toMatchObject({ signatureKey: 'a new key', hookUrl })
})

it('an unset key, or the mark of a hidden part, is refused', async () => {
  const { webhooks, mock } = await start('enterprise')
  const before = mock.snapshot()
  for (const changes of [{ key: undefined }, { key: '***' }, { hookUrl: 'https://h.example/?sig=***' }])
    await expect(webhooks.edit('edits', changes as { key: string })).rejects.toMatchObject({
      code: 'config_invalid',
    })
  expect(mock.snapshot()).toEqual(before)
})

const PLACES = [
  ['enterprise', '/admin/services/Parcels.FeatureServer/webhooks'],
  ['online', '/rest/admin/services/Parcels/FeatureServer/WebHooks'],
  ['portal', '/sharing/rest/portals/0123/webhooks'],
] as const

it.each(['a/b', '../../x', '%2e%2e', '%2F..', ' a b ', '?f=html', '#x', '😀', 'x'.repeat(256), 2 ** 53 - 1])(
  'the id %j stays one segment of a path',
  async (id) => {
    for (const [product, place] of PLACES) {
      const answer = { success: true, ...(product === 'portal' && { id: '0123' }) }
      const { webhooks, sent } = await startFixed(product, { id, name: 'n' }, answer)
      await webhooks.delete('n')
      expect(sent.at(-1)?.path).toBe(`${place}/${encodeURIComponent(id)}/delete`)
    }
    const { admin, sent } = await startFixed('portal', { id, name: 'n' })
    await listOf(admin.list())
    expect(sent.at(-1)?.path).toBe(`/sharing/rest/portals/${encodeURIComponent(id)}/webhooks`)
  },
)

it.each(['.', '..', '', '\ud800', 'a\nb', 'x'.repeat(257), 1.5, 2 ** 53, true, {}, ['a']])(
  'a response with the id %j is malformed',
  async (id) => {
    for (const [product, ids] of [
      ['enterprise', { id }],
      ['online', { id: 7, globalId: id }],
      ['portal', { id }],
    ] as const) {
      const { webhooks, sent } = await startFixed(
        product,
        { ...ids, name: 'n' },
        product === 'portal' ? ids : {},
      )
      expect((await errorOf(webhooks.delete('n'))).code).toBe('admin_malformed')
      expect(sent.filter(isWrite)).toEqual([])
    }
  },
)

it('a webhook with another id in place of the requested one is malformed', async () => {
  const { webhooks, sent } = await startFixed('enterprise', { ...BASIC, signatureKey: KEY }, { id: '2' })
  expect((await errorOf(webhooks.edit('n', { name: 'x' }))).code).toBe('admin_malformed')
  expect(sent.filter(isWrite)).toEqual([])
})

it('requests the path of a portal once, and again after a failure', async () => {
  let failures = 2
  const { webhooks, sent } = await start('portal', {
    before: (_, res) => failures-- > 0 && Boolean(res.writeHead(503).end()),
  })
  for (let i = 0; i < 2; i++) expect((await errorOf(listOf(webhooks.list()))).code).toBe('admin_unavailable')
  for (let i = 0; i < 2; i++) expect((await listOf(webhooks.list())).length).toBe(1)
  expect(sent.filter(({ path }) => path.endsWith('/portals/self')).length).toBe(3)
})

const MASKS = '****1f2e 1f**2e *** ####1f2e 1f2e#### XXXX1f2e 1f2exxxx ---- _#_ 1111 aaaa ••• 1f•• ●●2e'
const WORDS = 's3c…1f2e s3c...1f2e <hidden> [hidden] (key) HIDDEN Masked redacted null None undefined secret'
const VALUES = ['not shown', undefined, null, 7, true, {}, ['key']]

it.each([...`${MASKS} ${WORDS}`.split(' '), ...VALUES])(
  'takes the key %j for a mask, and sends no edit without a key',
  async (signatureKey) => {
    const { webhooks, sent } = await startFixed('enterprise', { ...BASIC, signatureKey })
    expect((await webhooks.get('n')).key).toBe(undefined)
    await expect(webhooks.edit('n', { name: 'x' })).rejects.toMatchObject({ code: 'config_invalid' })
    expect(sent.filter(isWrite)).toEqual([])
  },
)

const KEYS = 'a-b*c hidden-key-2026 the_secret xx-11 aaaab a..b <a [a](b) k•1 a#-_b 0'

it.each(KEYS.split(' '))('the key %j is shown, and kept by an edit', async (key) => {
  const { webhooks, sent } = await startFixed('enterprise', { ...BASIC, signatureKey: key })
  await errorOf(webhooks.edit('n', { name: 'x' }))
  expect(sent.find(isWrite)?.form.signatureKey).toBe(key)
})

it('refuses an edit if the service does not show whether the webhook is active', async () => {
  const { webhooks, sent } = await startFixed('enterprise', {
    ...BASIC,
    active: 'perhaps',
    signatureKey: KEY,
  })
  await expect(webhooks.edit('n', { name: 'x' })).rejects.toMatchObject({ code: 'config_invalid' })
  expect(sent.filter(isWrite)).toEqual([])
})

it.each<[shown: unknown, read?: string[], same?: string[]]>([
  ['*', ['*'], ['All']],
  ['/', ['*'], ['a', '*']],
  ['all', ['*'], ['*', '*']],
  [['ALL'], ['*'], ['/']],
  [['a', '*'], ['*'], ['*']],
  ['["a","b"]', ['a', 'b'], ['b', 'a', 'b']],
  ['b, a, b', ['b', 'a'], ['a', 'b']],
  ['allowed,a*', ['allowed', 'a*'], ['a*', 'allowed']],
  [[1]],
  [['a', null]],
  [''],
  [{ a: 1 }],
])('reads the change types %j as %j, and compares them as a set', async (shown, read, same) => {
  for (const product of ['enterprise', 'portal'] as const) {
    const values = { signatureKey: KEY, secret: KEY, changeTypes: shown, events: shown }
    const { webhooks } = await startFixed(product, { ...BASIC, ...values })
    expect((await webhooks.get('n')).changeTypes).toEqual(read)
    if (!same) continue
    expect(await webhooks.edit('n', { changeTypes: same })).toMatchObject({ changed: [], adjusted: [] })
    expect((await errorOf(webhooks.edit('n', { changeTypes: ['other'] }))).code).toBe('admin_not_applied')
  }
})

it('objects whose members are in another order are no difference', async () => {
  const policy = { deactivationPolicy: { daysInPast: 2, numberOfFailures: 1 } }
  const config = { ...policy, properties: { b: 1, a: { d: 1, c: [2] } } }
  const { webhooks } = await startFixed('portal', { ...BASIC, secret: KEY, config })
  const deactivation = { numberOfFailures: 1, daysInPast: 2 }
  const { changed } = await webhooks.edit('n', { properties: { a: { c: [2], d: 1 }, b: 1 }, deactivation })
  expect(changed).toEqual([])
})

const UNSET = { attempts: undefined }

it.each([undefined, null, [], 'x', {}, UNSET, { attempt: 1 }, { attempts: '3' }, { attempts: 1.5 }])(
  'the settings %j are refused',
  async (changes) => {
    const { admin, sent } = await start('service')
    const call = admin.editSettings(changes as DeliverySettings)
    await expect(call).rejects.toMatchObject({ code: 'config_invalid' })
    expect(sent).toEqual([])
  },
)

it('reads settings that are text, and those whose names end with a space', async () => {
  const text = { 'notificationAttempts ': '3', notificationTimeOutInSeconds: '', daysInPast: 4 }
  const { admin, sent } = await startFixed('enterprise', {}, text)
  expect(await admin.settings()).toEqual({ attempts: 3, daysInPast: 4 })
  const error = await errorOf(admin.editSettings({ attempts: 5 }))
  expect([error.code, sent.at(-2)?.form.daysInPast]).toEqual(['admin_not_applied', '4'])
})

describe('a list without an end', () => {
  type Page = (call: number) => object
  const ENDLESS: [product: Product, what: string, page: Page, calls: number, code?: string][] = [
    ['portal', 'a start that grows', (call) => ({ nextStart: call * 100 + 1 }), 1000, 'admin_malformed'],
    ['portal', 'the same start', () => ({ nextStart: '1' }), 1],
    ['portal', 'an earlier start', (call) => ({ nextStart: 300 - call }), 2],
    ['portal', 'no start', () => ({ nextStart: 'NaN' }), 1],
    ['online', 'more webhooks', () => ({ exceededTransferLimit: true }), 1000, 'admin_malformed'],
    ['online', 'more, but none', () => ({ webhooks: [], exceedTransferLimit: 'true' }), 1, 'admin_malformed'],
  ]

  it.each(ENDLESS)('of %s, with %s', async (product, _, page, expected, code) => {
    let calls = 0
    // Without sockets: a thousand requests over them take a second.
    const fetch = async ({ pathname }: URL) => {
      if (pathname.endsWith('/self')) return Response.json({ id: 'p' })
      if (++calls > 1100) throw new Error('too many requests')
      return Response.json({ webhooks: [{ id: '1' }], ...page(calls) })
    }
    const admin = createAdmin({ url: 'https://gis.example.com', product, fetch })
    const { code: found } = await listOf(admin.list()).catch((error) => error)
    expect([found, calls]).toEqual([code, expected])
  })
})
