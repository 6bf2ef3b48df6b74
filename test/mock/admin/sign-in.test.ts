import { createManualClock, createTokens } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FEATURE, JOB, seed, start } from '../support.ts'
import { get, NOW, postForm } from './support.ts'

const USER = { username: 'ann', password: 'secret', privileges: ['features', 'geoprocessing'] } as const
const APP = { username: 'app', password: 'shh', privileges: ['features'] } as const
const APP_FORM = { client_id: 'app', client_secret: 'shh', grant_type: 'client_credentials' }
const USER_FORM = { username: 'ann', password: 'secret' }

async function startSignIn(options: Parameters<typeof start>[1] = {}) {
  const clock = createManualClock(NOW)
  const auth = createTokens({ users: [USER, APP] })
  const service = await start([seed(FEATURE), seed(JOB)], { like: 'enterprise', clock, auth, ...options })
  const ask = async (path: string, form: Record<string, string> = {}) => {
    const { status, text } = await postForm(service.url + path, { ...form, f: 'json' })
    return { status, body: JSON.parse(text) }
  }
  return { service, clock, ask }
}

describe('rest/info', () => {
  it.each(['/rest/info', '//rest/info', '/services/Parcels.FeatureServer/webhooks/rest/info'])(
    '%s says where to get a token',
    async (path) => {
      const { service, ask } = await startSignIn({ like: { federated: false } })
      expect((await ask(path)).body).toEqual({
        currentVersion: 11.3,
        fullVersion: '11.3.0',
        authInfo: { isTokenBasedSecurity: true, tokenServicesUrl: `${service.url}/generateToken` },
      })
    },
  )

  it('names the portal after a sign-in at the portal, and not after one at the server', async () => {
    const { service, ask } = await startSignIn({ like: 'service' })
    const owner = async () => (await ask('/rest/info')).body.owningSystemUrl
    expect(await owner()).toBeUndefined()
    await ask('/sharing/rest/generateToken', USER_FORM)
    expect(await owner()).toBe(service.url)
    await ask('/generateToken', { ...USER_FORM, password: 'wrong' })
    expect(await owner(), 'a failed sign-in changes nothing').toBe(service.url)
    await ask('/generateToken', USER_FORM)
    expect(await owner()).toBeUndefined()
  })

  it('says that no token is needed without auth', async () => {
    const service = await start()
    const { text } = await get(`${service.url}/rest/info?f=json`)
    expect(JSON.parse(text).authInfo).toEqual({ isTokenBasedSecurity: false })
  })
})

describe('sign-in at the portal', () => {
  it('issues a token to a user, who can read the portal and themselves', async () => {
    const { ask } = await startSignIn()
    const { body } = await ask('/sharing/rest/generateToken', { ...USER_FORM, client: 'referer' })
    expect(body).toEqual({ token: expect.any(String), expires: NOW + 60 * 60_000 })
    const { token } = body
    expect((await ask('/sharing/rest/community/self', { token })).body).toMatchObject({ username: 'ann' })
    expect((await ask('/sharing/rest/portals/self', { token })).body).toMatchObject({
      id: '0123456789ABCDEF',
      isPortal: true,
      user: { username: 'ann' },
    })
  })

  it('exchanges a token of the portal for one of a server, until it expires', async () => {
    const { ask, clock } = await startSignIn()
    const first = await ask('/sharing/rest/generateToken', { ...USER_FORM, expiration: '1' })
    const { token } = first.body
    const exchange = () =>
      ask('/sharing/rest/generateToken', { token, serverUrl: 'http://any', expiration: '9' })
    const { body } = await exchange()
    expect(body).toEqual({ token: expect.not.stringContaining(token), expires: NOW + 9 * 60_000 })
    expect((await ask('/services/webhooks', { token: body.token })).body.webhooks).toHaveLength(2)
    await clock.advance(60_000)
    expect(await exchange()).toEqual({
      status: 200,
      body: { error: { code: 498, message: 'the token is invalid or has expired', details: [] } },
    })
  })

  it('issues a token to an application, with its lifetime in seconds', async () => {
    const { ask, clock } = await startSignIn()
    const { body } = await ask('/sharing/rest/oauth2/token/', { ...APP_FORM, expiration: '10' })
    expect(body).toEqual({ access_token: expect.any(String), expires_in: 600 })
    const list = '/services/Parcels.FeatureServer/webhooks'
    expect((await ask(list, { token: body.access_token })).body.webhooks).toHaveLength(1)
    const jobs = await ask('/services/Buffer.GPServer/webhooks', { token: body.access_token })
    expect(jobs.body.error.code, 'the application has one privilege').toBe(403)
    await clock.advance(600_000)
    expect((await ask(list, { token: body.access_token })).body.error.code).toBe(498)
  })

  it.each<[string, string, Record<string, string>, string]>([
    [
      'a wrong password',
      '/sharing/rest/generateToken',
      { ...USER_FORM, password: 'x' },
      'Invalid username or password',
    ],
    ['no password', '/sharing/rest/generateToken', { username: 'ann' }, 'password is required'],
    ['nothing', '/sharing/rest/generateToken', {}, 'username is required; password is required'],
    [
      'a wrong secret',
      '/sharing/rest/oauth2/token',
      { ...APP_FORM, client_secret: 'x' },
      'Invalid client_id or client_secret',
    ],
    [
      'another grant',
      '/sharing/rest/oauth2/token',
      { ...APP_FORM, grant_type: 'password' },
      'grant_type must be one of client_credentials',
    ],
    [
      'no grant',
      '/sharing/rest/oauth2/token',
      { client_id: 'app', client_secret: 'shh' },
      'grant_type is required',
    ],
  ])('refuses %s at %s', async (_, path, form, message) => {
    const { ask } = await startSignIn()
    const { status, body } = await ask(path, form)
    expect([status, body.error.code, body.error.message]).toEqual([200, 400, message])
  })

  it.each(['/sharing/rest/community/self', '/sharing/rest/portals/self'])(
    '%s needs a token',
    async (path) => {
      const { ask } = await startSignIn()
      expect((await ask(path)).body.error.code).toBe(499)
      expect((await ask(path, { token: 'stale' })).body.error.code).toBe(498)
    },
  )
})

it('two users with one name, or a user without a password, are refused at construction', () => {
  expect(() => createTokens({ users: [APP, APP] })).toThrow('two users of tokens have the same name')
  expect(() => createTokens({ users: [{ ...APP, password: '' }] })).toThrow(/^tokens\.users\.0\.password/)
})
