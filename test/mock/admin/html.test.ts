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
      for (const [, attributes = ''] of (inner ?? '').matchAll(/<input ([^>]*)>/g))
        fields[/(?<![\w-])name="(\w+)"/.exec(attributes)?.[1] ?? ''] = decode(
          /value="([^"]*)"/.exec(attributes)?.[1] ?? '',
        )
      for (const [, name, options] of (inner ?? '').matchAll(
        /<select [^>]*name="(\w+)"[^>]*>(.*?)<\/select>/g,
      ))
        fields[name ?? ''] = decode(/<option value="([^"]*)" selected>/.exec(options ?? '')?.[1] ?? '')
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
        /^default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      ),
    })
    expect(text).not.toMatch(/<script|javascript:|https?:\/\/(?!127\.0\.0\.1:9\/hook)|\son\w+=/i)
    expect(text).not.toContain(KEY)
  })

  it('use the style sheet of the inspector', async () => {
    const service = await start()
    const { text } = await page(service, LIST)
    const [, href = ''] = /<link rel="stylesheet" href="([^"]*)">/.exec(text) ?? []
    const { status, headers } = await get(new URL(href, service.url + LIST).href)
    expect([status, headers['content-type']]).toEqual([200, 'text/css; charset=utf-8'])
  })

  it('contain the style without an inspector, and the content security policy allows it', async () => {
    const { text, headers } = await page(await start(undefined, { control: false }), LIST)
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
    // Pages: the inspector with five panels, the site and its settings, three lists of webhooks, three webhooks, and the failures of each webhook.
    expect(seen.size).toBe(6 + 2 + 3 + 3 + 3)
  })
})

describe('forms', () => {
  const formOf = async (service: MockService, path: string, end: string) => {
    const { text } = await page(service, path)
    const form = formsOf(text, service.url + path).find(({ action }) => action.endsWith(end))
    return form as { action: string; fields: Record<string, string> }
  }

  /** Submits a form that asks, and then the form of its question. */
  const confirm = async ({ action, fields }: { action: string; fields: Record<string, string> }) => {
    const question = await postForm(action, fields)
    expect([question.status, question.text]).toEqual([200, expect.stringContaining('cannot be restored')])
    const [form] = formsOf(question.text, action)
    return postForm(form?.action ?? '', form?.fields ?? {})
  }

  it('ask before they delete', async () => {
    const service = await start()
    for (const [path, end] of [
      [pathOf(FEATURE), '/delete'],
      [LIST, '/deleteAll'],
    ] as const) {
      const { action, fields } = await formOf(service, path, end)
      expect((await postForm(action, fields)).text).toContain('<input type="hidden" name="confirmed"')
    }
    expect(service.snapshot().webhooks).toHaveLength(2)
  })

  it('are shown again after an error, with the input except the key', async () => {
    const service = await start()
    const create = await formOf(service, LIST, '/create')
    const input = { ...create.fields, name: 'typed <name>', hookUrl: 'ftp://x/', changeTypes: 'Nonsense' }
    const { status, text } = await postForm(create.action, { ...input, signatureKey: 'typed-key' })
    expect([status, text.includes('typed-key')]).toEqual([400, false])
    for (const message of ['changeTypes holds "Nonsense"', 'hookUrl must be an http', 'enter it once more'])
      expect(decode(text)).toContain(message)
    const [again] = formsOf(text, create.action)
    expect(again).toEqual({ action: create.action, fields: input })
    const edit = await formOf(service, pathOf(FEATURE), '/edit')
    const edited = await postForm(edit.action, { ...edit.fields, name: '' })
    expect(formsOf(edited.text, edit.action)[0]?.fields).toEqual({ ...edit.fields, name: '' })
    const settings = await formOf(service, '/services/webhooks/settings', '/settings')
    const wrong = await postForm(settings.action, { ...settings.fields, daysInPast: '-1' })
    expect(formsOf(wrong.text, settings.action)[0]?.fields).toEqual({ ...settings.fields, daysInPast: '-1' })
  })

  it('keep the input if the token is missing', async () => {
    const service = await start(undefined, { auth: auth() })
    const input = { f: 'html', name: 'new', hookUrl: FEATURE.hookUrl, token: 'wrong' }
    const { status, text } = await postForm(`${service.url}${LIST}/create`, input)
    const [form] = formsOf(text, `${service.url}${LIST}/create`)
    expect([status, form?.fields]).toEqual([498, expect.objectContaining({ name: 'new', token: '' })])
    const token = await tokenOf(service, 'both')
    expect((await postForm(form?.action ?? '', { ...form?.fields, token })).status).toBe(200)
    const remove = await postForm(`${service.url}${pathOf(FEATURE)}/delete`, { f: 'html', confirmed: 'true' })
    expect([remove.status, formsOf(remove.text, service.url)[0]?.fields]).toEqual([
      499,
      { f: 'html', confirmed: 'true', token: '' },
    ])
  })

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
    expect((await confirm(remove)).text).toContain('<h1>Done of Parcels.FeatureServer</h1>')
    for (const end of ['/activateAll', '/deactivateAll']) {
      const { action, fields } = await formOf(service, LIST, end)
      expect((await postForm(action, fields)).status).toBe(200)
    }
    expect((await confirm(await formOf(service, LIST, '/deleteAll'))).status).toBe(200)
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
    expect(forms.map(({ fields }) => fields.token)).toEqual(['', undefined]) // the deletion asks first
    const edited = await postForm(forms[0]?.action ?? '', { ...forms[0]?.fields, token })
    expect([edited.status, edited.text.includes(token)]).toEqual([200, false])
  })
})
