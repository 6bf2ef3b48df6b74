import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { type Admin, AdminError, createAdmin, type WebhookChanges, type Webhooks } from 'geohook/admin'
import { describe, expect, it } from 'vitest'
import { serve } from '../helpers/served.ts'
import { errorOf, KEY, listOf, PRODUCTS, type Product, start, stored } from './support.ts'

const SERVICE = 'Parcels.FeatureServer'

/** A client for a server that gives one answer. */
async function startStub(answer: (res: ServerResponse, url: string) => void): Promise<Webhooks> {
  const { url } = await serve((req, res) => void req.resume().on('end', () => answer(res, req.url ?? '')))
  return createAdmin({ url, product: 'enterprise', timeout: 10_000 }).service(SERVICE)
}

const get = (webhooks: Webhooks) => errorOf(webhooks.get('edits'))

describe('what a service answers', () => {
  const json = (body: unknown, status = 200) => {
    return (res: ServerResponse) => void res.writeHead(status).end(JSON.stringify(body))
  }
  const page = (text: string, status = 200) => {
    const html = `<!doctype html><title>${text}</title>`
    return (res: ServerResponse) => void res.writeHead(status, { 'content-type': 'text/html' }).end(html)
  }

  it.each<
    [name: string, (res: ServerResponse) => void, code: string, serviceCode: number | undefined, RegExp]
  >([
    [
      'an error object',
      json({ error: { code: 400, message: 'no', details: ['bad name'] } }),
      'admin_refused',
      400,
      /no bad name/,
    ],
    [
      'messages',
      json({ status: 'error', messages: ['a', 'b'], code: 400 }),
      'admin_refused',
      400,
      /error 400: a b/,
    ],
    [
      'an error 500 in JSON',
      json({ error: { code: 500, message: 'Unable to edit' } }),
      'admin_refused',
      500,
      /Unable to edit/,
    ],
    [
      'an error without a code',
      json({ status: 'error', messages: ['x'] }),
      'admin_refused',
      undefined,
      /an error: x/,
    ],
    ['success: false', json({ success: false }), 'admin_refused', undefined, /no reason/],
    ["a web adaptor's 403", page('Forbidden', 403), 'admin_forbidden', 403, /the error 403: Forbidden/],
    ['a 403 in JSON', json({ error: { code: 403, message: 'm' } }), 'admin_forbidden', 403, /m/],
    ['a 401', page('Unauthorized', 401), 'admin_unauthorized', 401, /Unauthorized/],
    ['a 404', page('Not here', 404), 'admin_not_found', 404, /Not here/],
    ['a 429', page('Slow down', 429), 'admin_unavailable', 429, /Slow down/],
    ['a 500', page('Oops', 500), 'admin_unavailable', 500, /Oops/],
    ['a 503', page('', 503), 'admin_unavailable', 503, /nothing/],
    ['another 4xx', page('teapot', 418), 'admin_refused', 418, /teapot/],
  ])('%s', async (_, answer, code, serviceCode, message) => {
    const error = await get(await startStub(answer))
    expect([error.code, error.serviceCode]).toEqual([code, serviceCode])
    expect(error.message).toMatch(message)
    expect(error.message, 'what was made of the address').toMatch(/\(enterprise at http:\S+\/admin\)$/)
  })

  const send = (body: string | Buffer, status = 200, headers = {}) => {
    return (res: ServerResponse) => void res.writeHead(status, headers).end(body)
  }
  const redirect = (location: string) => send('', 302, { location })
  const bomb = gzipSync(Buffer.alloc(2 ** 24 + 1))
  const deep = `[{"id":"1","config":${'['.repeat(1e5)}${']'.repeat(1e5)}}]`

  it.each<[name: string, (res: ServerResponse) => void, RegExp]>([
    ['a login page', page('Sign in'), /an HTML page: Sign in/],
    ['no JSON', send('ok'), /returned no JSON/],
    ['null', json(null), /returned no JSON: null/],
    ['bytes that are no text', send(Buffer.from([0xff, 0xfe])), /no JSON/],
    ['another list', json({ items: [] }), /the list of webhooks is missing/],
    ['a list of texts', json({ webhooks: ['a'] }), /a webhook is missing/],
    ['a webhook without an id', json([{ name: 'a' }]), /a webhook is missing/],
    ['a forbidden key', send('{"webhooks":[{"id":"1","__proto__":{}}]}'), /forbidden key/],
    ['another forbidden key', json([{ id: '1', constructor: { prototype: {} } }]), /forbidden key/],
    ['JSON that is nested deeply', send(deep), /nested too deeply/],
    ['a redirect', redirect('https://login.example/in?state=s3cret'), /redirects to https:\S+\/in \(/],
    ['a redirect to nowhere', redirect('http://:s3cret'), /redirects to nowhere \(/],
    ['more than 16 MB', send('', 200, { 'content-length': 2 ** 24 + 1 }), /returned more than 16777216/],
    ['more when decompressed', send(bomb, 200, { 'content-encoding': 'gzip' }), /more than 16777216 bytes/],
  ])('%s is malformed', async (_, answer, message) => {
    const error = await get(await startStub(answer))
    expect([error.code, error.serviceCode]).toEqual(['admin_malformed', undefined])
    expect(error.message).toMatch(message)
    expect(error.message).not.toMatch(/s3cret/)
  })

  it('reports a response that ends early', async () => {
    const cut = (res: ServerResponse) =>
      void res.writeHead(200, { 'content-length': 9 }).write('{', () => res.destroy())
    const error = await get(await startStub(cut))
    expect([error.code, error.message]).toEqual(['admin_unavailable', expect.stringMatching(/ended early/)])
  })

  it('shortens long messages', async () => {
    const error = await get(await startStub(json({ error: { code: 400, message: 'x'.repeat(5000) } })))
    expect(error.message.length).toBeLessThan(700)
  })

  it('reports a server or a fetch function that does not respond in time', async () => {
    const { url } = await serve((req, res) => void (req.url?.includes('/Parcels.') && res.write('{')))
    const signals: unknown[] = []
    const never = (_: URL, { signal }: RequestInit) => {
      signals.push(signal)
      return new Promise<Response>(() => {})
    }
    const endless = async () => new Response(new ReadableStream())
    const errors = [fetch, (url: URL) => fetch(url), never, endless].flatMap((fetch) => {
      const admin = createAdmin({ url, product: 'enterprise', timeout: 1000, fetch })
      return [get(admin.service(SERVICE)), get(admin.service('Other.FeatureServer'))]
    })
    for (const error of await Promise.all(errors)) {
      expect([error.code, error.hint]).toEqual(['admin_unavailable', expect.stringMatching(/option timeout/)])
      expect(error.message).toMatch(/no response within 1000 ms/)
    }
    const aborted = expect.objectContaining({ aborted: true })
    expect(signals).toEqual([aborted, aborted])
  })

  it('reports a server that is not there', async () => {
    const { url, close } = await serve(() => {})
    await close()
    const error = await get(createAdmin({ url, product: 'enterprise' }).service(SERVICE))
    expect([error.code, error.message]).toEqual(['admin_unavailable', expect.stringMatching(/ECONNREFUSED/)])
  })

  it.each<unknown>([null, undefined, 'text', 7, { message: {} }, new Error('')])(
    'reports a fetch function that throws or returns %j',
    async (thrown) => {
      const reject = () => Promise.reject(thrown)
      const none = async () => thrown as Response
      for (const fetch of [reject, none]) {
        const admin = createAdmin({ url: 'https://gis.example.com', product: 'enterprise', fetch })
        expect((await get(admin.service(SERVICE))).code).toBe('admin_unavailable')
      }
    },
  )

  it('lists 130,000 webhooks and deliveries', async () => {
    const many = Array.from({ length: 130_000 }, (_, index) => ({ id: index, name: `n${index}` }))
    const deliveries = Array(130_000).fill({ invokedTimestamp: 1, invoked: true })
    const webhooks = await startStub((res, url) => {
      const list = url.includes('Status') ? { webhookNotificationStatus: deliveries } : { webhooks: many }
      res.end(JSON.stringify(list))
    })
    expect((await webhooks.failures('n129999')).length).toBe(deliveries.length)
  })

  it.each<[what: string, product: Product, text: string, (admin: Admin) => Promise<unknown>]>([
    ['the id of the portal', 'portal', '{"name":"p"}', (admin) => admin.portal().get('edits')],
    ['the settings', 'online', '[]', (admin) => admin.settings()],
  ])('a response without %s', async (what, product, text, call) => {
    const { url } = await serve((_req, res) => void res.end(text))
    const error = await errorOf(call(createAdmin({ url, product })))
    expect([error.code, error.message]).toEqual(['admin_malformed', expect.stringContaining(what)])
  })
})

describe.each(PRODUCTS)('requests that %s cannot fulfil', (product) => {
  it('a webhook that does not exist', async () => {
    const { webhooks } = await start(product)
    for (const call of ['get', 'delete', 'activate', 'failures'] as const) {
      const error = await errorOf(webhooks[call]('unknown'))
      expect([error.code, error.message]).toEqual([
        'admin_not_found',
        expect.stringMatching(/no webhook unknown/),
      ])
    }
  })

  it('a change that the service refuses', async () => {
    const { mock, webhooks, url } = await start(product)
    const before = mock.snapshot()
    const changes = [{ changeTypes: ['Nonsense'] }, { hookUrl: `${url}/${'x'.repeat(2050)}` }]
    for (const change of changes) {
      const error = await errorOf(webhooks.edit('edits', change))
      expect([error.code, error.serviceCode]).toEqual(['admin_refused', 400])
    }
    expect(mock.snapshot()).toEqual(before)
  })

  it('a name that is taken', async () => {
    const { mock, webhooks, sent } = await start(product)
    const error = await errorOf(webhooks.create({ name: 'edits', hookUrl: 'https://x.example/' }))
    expect(error.code).toBe('admin_conflict')
    expect(mock.snapshot().webhooks.length).toBe(1)
    expect(sent.some(({ path }) => path.includes('create'))).toBe(false)
  })

  it('a member that the service ignores', async () => {
    const { mock, webhooks } = await start(product)
    mock.faults.add({ fault: 'edit_member_ignored', member: 'name' })
    const error = await errorOf(webhooks.edit('edits', { name: 'renamed' }))
    expect(error.code).toBe('admin_not_applied')
    expect(error.different).toEqual([{ member: 'name', requested: 'renamed', stored: 'edits' }])
    expect(error.result).toMatchObject({ changed: [], webhook: { name: 'edits' } })
  })

  it('two webhooks with one name', async () => {
    const { mock, webhooks, sent } = await start(product, {
      webhooks: [stored(product), stored(product, { id: 'b0', name: 'other' })],
      // Mocks keep names unique.
      before: (_req, res) => {
        const end = res.end.bind(res) as (body?: unknown) => typeof res
        res.end = ((body: unknown) => {
          const text = String(body).replace('"other"', '"edits"')
          return end(text.length === String(body).length ? text : body)
        }) as typeof res.end
        return false
      },
    })
    const before = mock.snapshot()
    const error = await errorOf(webhooks.edit('edits', { name: 'x' }))
    const ids = (await listOf(webhooks.list())).map(({ id }) => id)
    expect([error.code, error.hint]).toEqual(['admin_ambiguous', `Give an id: ${ids.join(', ')}.`])
    expect((await webhooks.get(ids[1] ?? '')).id).toBe(ids[1])
    expect(mock.snapshot()).toEqual(before)
    expect(sent.some(({ path }) => /edit|update/.test(path))).toBe(false)
  })

  it.each<[WebhookChanges, RegExp]>([
    [{ hookUrl: 'ftp://x.example' }, /hookUrl must be an http or https URL/],
    [{ hookUrl: 'https://x.example/a b' }, /hookUrl must be an http or https URL/],
    [{ changeTypes: [] }, /changeTypes must be a list/],
    [{ changeTypes: ['a,b'] }, /changeTypes must be a list/],
    [{ name: '' }, /name/],
    [{ active: 'true' as unknown as boolean }, /active/],
    [{ activ: true } as WebhookChanges, /activ/],
    [{ schedule: { interval: 5 } as object }, /unknown schedule member interval/],
    [{ schedule: { state: 'on' as 'enabled' } }, /state must be one of/],
    [
      { schedule: { recurrenceInfo: { interval: 0.5, frequency: 'day' } } },
      /interval must be a whole number/,
    ],
    [{ schedule: { recurrenceInfo: 'daily' as never } }, /recurrenceInfo members must be an object/],
  ])('the changes %j', async (changes, message) => {
    const { webhooks, sent } = await start(product)
    await expect(webhooks.edit('edits', changes)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(message),
    })
    expect(sent).toEqual([])
  })
})

it('a service that does not exist', async () => {
  const { admin } = await start('enterprise')
  expect((await errorOf(admin.service('Roads.FeatureServer').get('edits'))).code).toBe('admin_not_found')
})

it.each<[product: Product, what: string, call: (admin: ReturnType<typeof createAdmin>) => unknown]>([
  ['service', 'an owner', (admin) => listOf(admin.list({ owner: 'kim' }))],
  ['enterprise', 'a portal', (admin) => listOf(admin.listServiceWebhooks())],
  ['enterprise', 'a portal', (admin) => admin.portal()],
  ['portal', 'a service', (admin) => admin.service(SERVICE)],
  ['online', 'a geoprocessing service', (admin) => admin.service('Buffer.GPServer')],
  ['enterprise', 'takeOver', (admin) => admin.takeOver({ from: 'kim' })],
  ['portal', 'a setting', (admin) => admin.editSettings({ daysInPast: 2 })],
  ['online', 'a setting', (admin) => admin.editSettings({ timeoutInSeconds: 2 })],
  ['portal', 'a schedule', (admin) => admin.portal().edit('edits', { schedule: { state: 'disabled' } })],
  ['enterprise', 'properties', (admin) => admin.service(SERVICE).edit('edits', { properties: {} })],
  ['enterprise', 'a schedule', (admin) => admin.service('B.GPServer').edit('edits', { schedule: {} })],
])('%s does not support %s', async (product, _, call) => {
  const { admin, sent } = await start(product)
  const error = await errorOf(Promise.resolve().then(() => call(admin)))
  expect([error.code, error instanceof AdminError, sent]).toEqual(['admin_unsupported', true, []])
})

it.each(['hidden', 'masked'] as const)('a %s key that is not given: nothing is written', async (keys) => {
  for (const product of PRODUCTS) {
    const { mock, webhooks } = await start(product, { like: { product, keys } })
    const before = mock.snapshot()
    await expect(webhooks.edit('edits', { name: 'x' })).rejects.toMatchObject({ code: 'config_invalid' })
    // A portal has operations that only switch.
    if (product === 'portal') await webhooks.activate('edits')
    else await expect(webhooks.activate('edits')).rejects.toMatchObject({ code: 'config_invalid' })
    expect(mock.snapshot()).toEqual(before)
    const { notCompared } = await webhooks.edit('edits', { name: 'x', key: KEY })
    expect(notCompared).toContain('key')
    expect(mock.snapshot().webhooks[0]?.signatureKey).toBe(KEY)
  }
})

it('a setting that the service does not store', async () => {
  const { admin } = await start('enterprise', {
    before(req) {
      if (req.method === 'POST' && req.url?.endsWith('settings')) req.url = '/admin/services/webhooks'
      return false
    },
  })
  const error = await errorOf(admin.editSettings({ attempts: 2 }))
  expect([error.code, error.message]).toEqual(['admin_not_applied', expect.stringMatching(/attempts/)])
  expect((await errorOf(admin.editSettings({ attempts: 2 }))).code).toBe('admin_not_applied')
  await expect(admin.editSettings({})).rejects.toMatchObject({ code: 'config_invalid' })
})
