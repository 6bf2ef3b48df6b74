import { describe, expect, it } from 'vitest'
import { FEATURE, pathOf, post, same, seed, start } from '../support.ts'
import { get, postForm, statusOf, write } from './support.ts'

const EDIT = `${pathOf(FEATURE)}/edit`
const LIST = '/services/Parcels.FeatureServer/webhooks'
const good = new URLSearchParams(same(FEATURE)).toString()

describe('a page of another site', () => {
  it.each<[what: string, origin: (url: string) => string, status: number]>([
    ['this service', (url) => url, 200],
    ['this service behind TLS', (url) => url.replace('http:', 'https:'), 200],
    ['another site', () => 'https://evil.example', 403],
    ['another port', () => 'http://127.0.0.1:1', 403],
    ['localhost, where it is called 127.0.0.1', (url) => url.replace('127.0.0.1', 'localhost'), 403],
    ['a name that begins alike', (url) => `${url}.evil.example`, 403],
    ['no site at all', () => 'null', 403],
    ['nonsense', () => '%', 403],
    ['an empty origin', () => '', 403],
  ])('%s', async (_, originOf, status) => {
    const service = await start()
    const before = service.snapshot()
    const origin = originOf(service.url)
    for (const path of [EDIT, '/services/webhooks', '/nowhere']) {
      const answer = await postForm(service.url + path, { ...same(FEATURE), name: 'n' }, { origin })
      expect(answer.status).toBe(status === 200 && path === '/nowhere' ? 404 : status)
      if (status === 403) expect(JSON.parse(answer.text)).toMatchObject({ status: 'error', code: 403 })
    }
    if (status === 403) expect(service.snapshot()).toEqual(before)
    expect((await get(service.url + LIST, { origin })).status).toBe(status)
  })
})

describe('unusual paths', () => {
  it.each([
    '/services/../services/webhooks',
    '/services/%2e%2e/services/webhooks',
    EDIT.replace('/services', '/services/.'),
    EDIT.replace('/services', '/services/%2e'),
    EDIT.replace('/services', '/services/%2e%2e'),
    EDIT.replace('/services/', '/services//'),
    EDIT.replace('/services/', '/services\\'),
    EDIT.replace('/services/', '/services/%5c'),
    EDIT.replace('/webhooks/', '/webhooks%2f'),
    EDIT.replace('/webhooks/', '/webhooks%252f'),
    EDIT.replace('/edit', '/edit%00'),
    EDIT.replace('/edit', '/edit;x=1'),
    EDIT.replace('/edit', '/%65dit%20'),
    EDIT.replace('Parcels', 'Parcels%ED%A0%80'),
    EDIT.replace('.FeatureServer', '.FeatureServer.FeatureServer'),
    EDIT.replace('.FeatureServer', '%00.FeatureServer'),
    `/${EDIT}`,
    `//evil.example${EDIT}`,
    EDIT.slice(1),
    `ftp://127.0.0.1${EDIT}`,
    '*',
  ])('returns 404 for %s', async (path) => {
    const service = await start()
    const before = service.snapshot()
    const answer = await write(service, `POST ${path}`, { body: good })
    expect([400, 404]).toContain(statusOf(answer))
    expect(answer).not.toContain('"success"')
    expect(service.snapshot()).toEqual(before)
  })

  it('accepts an absolute URL in the request line', async () => {
    const service = await start()
    expect(statusOf(await write(service, `POST ${service.url}${EDIT}`, { body: good }))).toBe(200)
    expect(statusOf(await write(service, `POST http://other.example${EDIT}?f=pjson`, { body: good }))).toBe(
      200,
    )
  })

  it('accepts names of Object.prototype members', async () => {
    const odd = ['__proto__', 'constructor', 'toString', 'webhooks', 'services', 'a.GPServer', 'ünï %2f?#&']
    const seeds = odd.flatMap((name) => [
      seed(FEATURE, { folderName: name, serviceName: name, name, id: `f${odd.indexOf(name)}` }),
      seed(FEATURE, { serviceName: name, name, id: `r${odd.indexOf(name)}` }),
    ])
    const service = await start(seeds)
    for (const webhook of seeds) {
      const path = pathOf(webhook).split('/').map(encodeURIComponent).join('/')
      const { status, body } = await post(service, `${path}/edit`, same(webhook))
      expect([status, body.id]).toEqual([200, webhook.id])
    }
    for (const id of odd) {
      const path = `/services/webhooks.FeatureServer/webhooks/${encodeURIComponent(id)}`
      for (const operation of ['', '/edit', '/delete'])
        expect((await post(service, path + operation, same(FEATURE))).status).toBe(404)
    }
    expect(service.snapshot().webhooks).toHaveLength(seeds.length)
  })
})
