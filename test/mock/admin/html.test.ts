import type { MockService } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { KEY } from '../../helpers/deliver.ts'
import { FEATURE, JOB, pathOf, same, seed, start } from '../support.ts'
import { auth, BROWSER, decode, get, postForm, tokenOf } from './support.ts'

const LIST = '/services/Parcels.FeatureServer/webhooks'

const page = (service: MockService, path: string) => get(service.url + path, { accept: BROWSER })

/** The JSON that a page shows. */
const shownBy = (text: string): unknown => JSON.parse(decode(/<pre>(.*)<\/pre>/s.exec(text)?.[1] ?? ''))

describe('format', () => {
  it.each<[accept: string | undefined, f: string, type: string]>([
    [BROWSER, '', 'text/html'],
    [BROWSER, '?f=json', 'application/json'],
    [BROWSER, '?f=', 'text/html'],
    ['application/json', '?f=html', 'text/html'],
    [undefined, '', 'application/json'],
    ['*/*', '', 'application/json'],
    ['application/json, text/html;q=0.9', '', 'application/json'],
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
  ])('%s: the JSON, but no key, no scripts, no subresources, no caching', async (_, path) => {
    const service = await start()
    const { text, headers, status } = await page(service, path)
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'content-security-policy':
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    })
    expect(text).not.toMatch(/<script|<form|<link|javascript:|\son\w+=/i)
    expect(text).not.toContain(KEY)
    const json = await get(`${service.url}${path}?f=json`)
    expect(shownBy(text)).toEqual(JSON.parse(json.text.replaceAll(KEY, '***')))
    expect(status).toBe(json.status)
  })

  it.each([
    ['***', KEY],
    ['', ''],
  ])('show the key as %j, never the key', async (shown, signatureKey) => {
    const service = await start([seed(FEATURE, { signatureKey })])
    expect(shownBy((await page(service, pathOf(FEATURE))).text)).toMatchObject({ signatureKey: shown })
  })

  it.each(['/services/webhooks', LIST, pathOf(FEATURE), '/services/webhooks/nothing'])(
    '%s links to the webhooks in the inspector',
    async (path) => {
      const service = await start()
      const [, href = ''] = /<a href="([^"]*)">/.exec((await page(service, path)).text) ?? []
      const target = new URL(href, service.url + path).href
      expect(target).toBe(`${service.url}/webhooks`)
      const { status, text } = await get(target, { accept: BROWSER })
      expect([status, text.includes(FEATURE.name)]).toEqual([200, true])
    },
  )

  it('have no link without an inspector', async () => {
    const { text } = await page(await start(undefined, { control: false }), LIST)
    expect(text).not.toContain('href')
  })
})

describe('a POST request with f=html', () => {
  it('has the same effect as with f=json, and gets its response as a page', async () => {
    const service = await start([seed(FEATURE), seed(JOB)])
    const send = async (path: string, fields: Record<string, string> = {}) => {
      const { status, text } = await postForm(service.url + path, { f: 'html', ...fields })
      return { status, body: shownBy(text) }
    }
    const edited = await send(`${pathOf(FEATURE)}/edit`, {
      ...same(FEATURE),
      signatureKey: KEY,
      active: 'false',
    })
    expect(edited).toMatchObject({ status: 200, body: { status: 'success', signatureKey: '***' } })
    const { webhooks } = service.snapshot()
    expect(webhooks.find(({ id }) => id === FEATURE.id)).toMatchObject({ signatureKey: KEY, active: false })
    expect(await send(`${LIST}/create`, { name: '' })).toMatchObject({ status: 400, body: { code: 400 } })
    expect(await send(`${pathOf(FEATURE)}/delete`)).toEqual({ status: 200, body: { status: 'success' } })
    expect(service.snapshot().webhooks.map(({ name }) => name)).toEqual([JOB.name])
    await send('/services/webhooks/settings', { notificationAttempts: '5' })
    expect(service.snapshot().settings.notificationAttempts).toBe(5)
  })

  it('needs a token if the service uses tokens', async () => {
    const service = await start(undefined, { auth: auth() })
    const url = service.url + pathOf(FEATURE)
    expect((await postForm(url, { f: 'html' })).status).toBe(499)
    const token = await tokenOf(service, 'both')
    const { status, text } = await postForm(url, { f: 'html', token })
    expect([status, text.includes(token)]).toEqual([200, false])
  })
})
