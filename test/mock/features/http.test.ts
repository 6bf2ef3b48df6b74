import { createTokens } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { start } from '../support.ts'
import { get, type Json, LAYER, post, SERVICE, startFeatures } from './support.ts'

const user = { username: 'ann', password: 'pw', privileges: [] } as const
const services = [
  { serviceName: 'Parcels', serviceType: 'FeatureServer' as const },
  { folderName: 'City', serviceName: 'FeatureServer', serviceType: 'FeatureServer' as const },
  { serviceName: 'Jobs', serviceType: 'GPServer' as const },
]

describe('paths', () => {
  it.each([
    ['/rest/services/Parcels/FeatureServer', 'Parcels'],
    ['/rest/services/Parcels/FeatureServer/', 'Parcels'],
    ['/services/Parcels/FeatureServer', 'Parcels'],
    ['/rest/admin/services/Parcels/FeatureServer', 'Parcels'],
    ['/admin/services/Parcels/FeatureServer', 'Parcels'],
    ['/rest/services/City/FeatureServer/FeatureServer', 'FeatureServer'],
    ['/rest/services/%50arcels/FeatureServer', 'Parcels'],
  ])('%s names a service', async (path, serviceDescription) => {
    const service = await start([], { services })
    const response = await fetch(`${service.url}${path}?f=json`)
    expect(await response.json()).toMatchObject({ serviceDescription })
  })

  it.each([
    '/rest/services/Nothing/FeatureServer',
    '/rest/services/Jobs/FeatureServer',
    '/rest/services/City/Parcels/FeatureServer/0',
  ])('%s names no service', async (path) => {
    const service = await start([], { services })
    const response = await fetch(`${service.url}${path}?f=json`)
    expect([response.status, await response.json()]).toEqual([
      200,
      { error: { code: 404, message: 'the service does not exist', details: [] } },
    ])
  })

  it.each([
    '/rest/services/Parcels/FeatureServer/nothing',
    '/rest/services/Parcels/FeatureServer/WebHooks',
    '/rest/services/Parcels/FeatureServer/0/x',
    '/rest/services/Parcels/FeatureServer/%E0/query',
    '/rest/services/Parcels/featureserver',
    '/rest/services/FeatureServer',
  ])('%s is left to the administration', async (path) => {
    const service = await start([], { services })
    const response = await fetch(service.url + path)
    expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 404 } }])
  })
})

describe('requests', () => {
  it.each(['json', 'JSON', 'pjson', 'html'])('have the format %s', async (f) => {
    const service = await startFeatures()
    const response = await fetch(`${service.url}/rest/services/${SERVICE}?f=${f}`)
    const text = await response.text()
    if (f === 'html') {
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(text).toContain('&quot;serviceDescription&quot;: &quot;Parcels&quot;')
    } else {
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(text.includes('\n')).toBe(f === 'pjson')
      expect(JSON.parse(text)).toMatchObject({ serviceDescription: 'Parcels' })
    }
  })

  it('are html for browsers by default, otherwise json', async () => {
    const service = await startFeatures()
    const url = `${service.url}/rest/services/${LAYER}`
    const page = await fetch(url, { headers: { accept: 'text/html,*/*;q=0.8' } })
    expect(page.headers.get('content-type')).toContain('text/html')
    expect((await fetch(url)).headers.get('content-type')).toContain('application/json')
  })

  it('get 405 for a wrong method', async () => {
    const service = await startFeatures()
    const response = await fetch(`${service.url}/rest/services/${LAYER}/addFeatures`)
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    expect(await response.json()).toEqual({ error: { code: 405, message: 'use POST', details: [] } })
  })

  it('from pages of other origins are refused', async () => {
    const service = await startFeatures()
    const response = await fetch(`${service.url}/rest/services/${LAYER}/addFeatures?f=json`, {
      method: 'POST',
      headers: { origin: 'https://evil.example' },
      body: new URLSearchParams({ features: '[{}]' }),
    })
    expect(await response.json()).toMatchObject({ error: { code: 403 } })
    expect(await get(service, `${LAYER}/query`, { returnCountOnly: true })).toEqual({ count: 0 })
  })

  it('merge query and form: the form has precedence', async () => {
    const service = await startFeatures()
    await post(service, `${LAYER}/addFeatures`, { features: [{}, {}] })
    const url = `${LAYER}/query?returnIdsOnly=true&where=1%3D0`
    expect((await post(service, url, { where: 'OBJECTID = 2' })).objectIds).toEqual([2])
  })
})

describe('tokens', () => {
  async function startWithTokens() {
    const service = await startFeatures(undefined, { auth: createTokens({ users: [user] }) })
    const body = new URLSearchParams({ username: 'ann', password: 'pw', f: 'json' })
    const response = await fetch(`${service.url}/generateToken`, { method: 'POST', body })
    return { service, token: ((await response.json()) as { token: string }).token }
  }

  it('of any user are accepted in the query, the form and headers', async () => {
    const { service, token } = await startWithTokens()
    const ok = { serviceDescription: 'Parcels' }
    expect(await get(service, SERVICE, { token })).toMatchObject(ok)
    expect(await post(service, SERVICE, { token })).toMatchObject(ok)
    for (const name of ['authorization', 'x-esri-authorization']) {
      const response = await fetch(`${service.url}/rest/services/${SERVICE}?f=json`, {
        headers: { [name]: `Bearer ${token}` },
      })
      expect(await response.json()).toMatchObject(ok)
    }
  })

  it.each<[string, (token: string) => [string, object], number]>([
    ['no token', () => [SERVICE, {}], 499],
    ['an invalid token', () => [SERVICE, { token: 'x' }], 498],
    ['a token in the query of a POST request', (token) => [`${SERVICE}?token=${token}`, {}], 499],
  ])('%s: %3$i', async (_, toRequest, code) => {
    const { service, token } = await startWithTokens()
    const [path, fields] = toRequest(token)
    const answer: Json = await post(service, path, fields as Record<string, unknown>)
    expect(answer).toEqual({ error: { code, message: expect.any(String), details: [] } })
  })
})
