import type { MockService, Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { FEATURE, JOB, pathOf, seed, start } from '../support.ts'
import { auth, BROWSER, decode, get, postForm, tokenOf } from './support.ts'

const LIST = '/services/Parcels.FeatureServer/webhooks'
/** Returns the action and the fields of each form on a page, as a browser would send them. */
function formsOf(text: string, url: string): { action: string; fields: Record<string, string> }[] {
  return [...text.matchAll(/<form method="post" action="([^"]*)">(.*?)<\/form>/gs)].map(
    ([, action, inner]) => {
      const fields: Record<string, string> = {}
      for (const [, name, attributes] of (inner ?? '').matchAll(/<input name="([^"]*)"([^>]*)>/g))
        fields[name ?? ''] = decode(/value="([^"]*)"/.exec(attributes ?? '')?.[1] ?? '')
      for (const [, type, name, value] of (inner ?? '').matchAll(
        /<input type="(\w+)" name="(\w+)" value="(\w*)">/g,
      ))
        if (type === 'hidden') fields[name ?? ''] = value ?? ''
      for (const [, name, options] of (inner ?? '').matchAll(/<select name="(\w+)">(.*?)<\/select>/g))
        fields[name ?? ''] = decode(/<option selected>([^<]*)</.exec(options ?? '')?.[1] ?? '')
      return { action: new URL(decode(action ?? ''), url).href, fields }
    },
  )
}

const linksOf = (text: string, url: string): string[] =>
  [...text.matchAll(/<a href="([^"]*)">/g)].map(([, href]) => new URL(decode(href ?? ''), url).href)

const page = (service: MockService, path: string) => get(service.url + path, { accept: BROWSER })

describe('format', () => {
  it.each<[accept: string | undefined, f: string, type: string]>([
    [BROWSER, '', 'text/html'],
    [BROWSER, '?f=json', 'application/json'],
    [BROWSER, '?f=', 'text/html'],
    ['application/json', '?f=html', 'text/html'],
    [undefined, '', 'application/json'],
    ['*/*', '', 'application/json'],
    ['application/json, text/html;q=0.9', '', 'application/json'],
    ['application/json;q=0.5, text/html', '', 'text/html'],
    ['image/png', '', 'application/json'],
    ['%%%', '', 'application/json'],
  ])('with accept %s and query %s, responses and errors are %s', async (accept, f, type) => {
    const service = await start()
    for (const path of [LIST, '/services/webhooks', `${LIST}/none`, '/nowhere', `${LIST}/none/edit`]) {
      const { headers } = await get(service.url + path + f, accept ? { accept } : {})
      expect(headers['content-type']).toBe(`${type}; charset=utf-8`)
    }
  })
})

describe('pages', () => {
  it.each([
    ['a list', LIST],
    ['a webhook', pathOf(FEATURE)],
    ['failures', `${pathOf(FEATURE)}/notificationStatus`],
    ['the site', '/services/webhooks'],
    ['settings', '/services/webhooks/settings'],
    ['an error', '/services/webhooks/nothing'],
  ])('%s: no scripts, no subresources, no key, no caching', async (_, path) => {
    const { text, headers } = await page(await start(), path)
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      ),
    })
    expect(text).not.toMatch(/<script|javascript:|https?:\/\/(?!127\.0\.0\.1:9\/hook)|\son\w+=/i)
    expect(text).not.toContain(KEY)
  })

  it('the content security policy allows the style of the page', async () => {
    const { text, headers } = await page(await start(), LIST)
    const [, style = ''] = /<style>(.*)<\/style>/s.exec(text) ?? []
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style))
    expect(headers['content-security-policy']).toContain(`'sha256-${Buffer.from(digest).toString('base64')}'`)
  })

  it.each([
    ['set', KEY],
    ['not set', ''],
  ])('show that the key is %s, never the key', async (said, signatureKey) => {
    const service = await start([seed(FEATURE, { signatureKey })])
    for (const path of [LIST, pathOf(FEATURE), '/services/webhooks']) {
      const { text } = await page(service, path)
      expect(text).toContain(`<td>${said}</td>`)
      expect(text).not.toContain(KEY)
    }
  })

  it('every link leads to a page', async () => {
    const city = seed(FEATURE, { folderName: 'Stadt & Land', serviceName: 'a?b#c%20d', id: 'city' })
    const service = await start([seed(FEATURE), seed(JOB), city])
    const seen = new Set<string>()
    const open = [`${service.url}/services/webhooks`]
    for (let url = open.pop(); url; url = open.pop()) {
      if (seen.has(url)) continue
      seen.add(url)
      const { status, text } = await get(url, { accept: BROWSER })
      expect([url, status]).toEqual([url, 200])
      open.push(...linksOf(text, url))
    }
    // Pages: the site and its settings, three lists of webhooks, three webhooks, and the failures of each webhook.
    expect(seen.size).toBe(2 + 3 + 3 + 3)
  })
})

describe('forms', () => {
  const formOf = async (service: MockService, path: string, end: string) => {
    const { text } = await page(service, path)
    const form = formsOf(text, service.url + path).find(({ action }) => action.endsWith(end))
    return form as { action: string; fields: Record<string, string> }
  }

  it.each([
    ['feature service', FEATURE],
    ['geoprocessing service', JOB],
  ])('submitting the unchanged edit form of a %s changes nothing, and keeps the key', async (_, from) => {
    const service = await start()
    const find = (): Webhook | undefined => service.snapshot().webhooks.find(({ id }) => id === from.id)
    const { action, fields } = await formOf(service, pathOf(from), '/edit')
    expect(fields).toMatchObject({ f: 'html', name: from.name, hookUrl: from.hookUrl, signatureKey: '' })
    const { status, text } = await postForm(action, fields, { origin: service.url })
    expect([status, text]).toEqual([200, expect.stringContaining('<td>success</td>')])
    expect(find()).toEqual({ ...seed(from), modified: expect.any(Number), modifiedId: 'admin' })
    await postForm(action, { ...fields, signatureKey: 'parcels2027', active: 'false' })
    expect(find()).toMatchObject({ signatureKey: 'parcels2027', active: false })
  })

  it('the edit form does not add a schedule to a webhook', async () => {
    const service = await start([seed(FEATURE, { scheduleInfo: {} })])
    const { action, fields } = await formOf(service, pathOf(FEATURE), '/edit')
    expect((await postForm(action, fields)).status).toBe(200)
    expect(service.snapshot().webhooks[0]?.scheduleInfo).toEqual({})
  })

  it('can create and delete a webhook, change all webhooks of a service, and change settings', async () => {
    const service = await start()
    const create = await formOf(service, LIST, '/create')
    await postForm(create.action, { ...create.fields, name: 'new', hookUrl: FEATURE.hookUrl })
    expect(service.snapshot().webhooks.map(({ name }) => name)).toEqual([FEATURE.name, JOB.name, 'new'])
    const remove = await formOf(service, pathOf(FEATURE), '/delete')
    expect((await postForm(remove.action, remove.fields)).text).toContain(
      '<h1>Done of Parcels.FeatureServer</h1>',
    )
    for (const end of ['/activateAll', '/deactivateAll', '/deleteAll']) {
      const { action, fields } = await formOf(service, LIST, end)
      expect((await postForm(action, fields)).status).toBe(200)
    }
    expect(service.snapshot().webhooks.map(({ name }) => name)).toEqual([JOB.name])
    const settings = await formOf(service, '/services/webhooks/settings', '/settings')
    await postForm(settings.action, { ...settings.fields, notificationAttempts: '5' })
    expect(service.snapshot().settings.notificationAttempts).toBe(5)
  })

  it('have a token field only if the service uses tokens', async () => {
    const off = await start()
    expect((await page(off, pathOf(FEATURE))).text).not.toContain('"token"')
    const on = await start(undefined, { auth: auth() })
    const { status, text } = await page(on, pathOf(FEATURE))
    expect(status).toBe(499)
    const [form] = formsOf(text, on.url + pathOf(FEATURE))
    expect(form).toEqual({ action: on.url + pathOf(FEATURE), fields: { f: 'html', token: '' } })
    const token = await tokenOf(on, 'both')
    const answer = await postForm(form?.action ?? '', { ...form?.fields, token })
    expect([answer.status, answer.text.includes(token)]).toEqual([200, false])
    const forms = formsOf(answer.text, on.url + pathOf(FEATURE))
    expect(forms.map(({ fields }) => fields.token)).toEqual(['', ''])
    const edited = await postForm(forms[0]?.action ?? '', { ...forms[0]?.fields, token })
    expect([edited.status, edited.text.includes(token)]).toEqual([200, false])
  })
})
