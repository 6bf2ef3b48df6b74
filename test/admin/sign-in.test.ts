import { createAdmin, type SignInOptions, signIn } from 'geohook/admin'
import { afterEach, expect, it, vi } from 'vitest'
import { auth } from '../mock/admin/support.ts'
import { errorOf, listOf, record, type Sent, start, webhooksOf } from './support.ts'

afterEach(() => void vi.useRealTimers())

const USER = { username: 'both', password: 'pw-both' }

const startWithUsers = () => start('enterprise', { auth: auth() })

it.each([
  ['a user', USER, '/sharing/rest/generateToken'],
  ['an application', { clientId: 'both', clientSecret: 'pw-both' }, '/sharing/rest/oauth2/token'],
])('signs in %s at a portal', async (_, credentials, path) => {
  const { url } = await startWithUsers()
  const sent: Sent[] = []
  const token = await signIn({
    portal: `${url}/home`,
    ...credentials,
    referer: 'app.example',
    fetch: record(sent),
  })
  expect(sent.map((request) => [request.method, request.path])).toEqual([['POST', path]])
  const admin = createAdmin({ url, product: 'enterprise', token, fetch: record(sent) })
  expect((await listOf(webhooksOf(admin).list())).length).toBe(1)
  expect(sent.map(({ headers }) => headers.get('referer'))).toEqual(['app.example', 'app.example'])
})

it('signs in a user at a server without a portal, with a token that is bound to the referer', async () => {
  const { url } = await startWithUsers()
  const sent: Sent[] = []
  await signIn({ portal: `${url}/admin`, ...USER, fetch: record(sent) })
  expect([sent[0]?.path, sent[0]?.form]).toEqual([
    '/admin/generateToken',
    { ...USER, client: 'referer', referer: 'geohook', expiration: '60', f: 'json' },
  ])
})

it('signs in again when a service rejects the token, whatever the clocks say', async () => {
  let count = 0
  const fetch = async () => Response.json({ token: `token${++count}`, expires: 0 })
  const portal = 'https://gis.example.com/portal'
  const token = await signIn({ portal, ...USER, fetch })
  expect([await token.getToken(portal), await token.getToken(portal)]).toEqual(['token1', 'token1'])
  await token.refreshCredentials()
  expect(await token.getToken(portal)).toBe('token2')
})

it.each([
  ['a wrong password', { username: 'both', password: 'wrong' }],
  ['a wrong secret', { clientId: 'both', clientSecret: 'wrong' }],
])('%s is an error', async (_, credentials) => {
  const { url } = await startWithUsers()
  const error = await errorOf(signIn({ portal: url, ...credentials }))
  expect(['admin_refused', 'admin_unauthorized']).toContain(error.code)
})

it.each<[options: Partial<SignInOptions>, RegExp]>([
  [{}, /needs username and password, or clientId and clientSecret/],
  [{ username: 'kim' }, /needs username and password/],
  [{ clientId: 'app' }, /needs username and password/],
  [{ ...USER, clientId: 'app', clientSecret: 's' }, /needs username and password/],
  [{ ...USER, portal: 'http://gis.example.com/portal' }, /is not https/],
  [{ ...USER, portal: 'gis.example.com' }, /portal must be a URL/],
])('rejects the options %j', async (options, message) => {
  const portal = 'https://gis.example.com/portal'
  await expect(signIn({ portal, ...options })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(message),
  })
})

it('a response without a token is an error', async () => {
  const fetch = async () => Response.json({ expires: 1 })
  const error = await errorOf(signIn({ portal: 'https://gis.example.com/portal', ...USER, fetch }))
  expect([error.code, error.message]).toEqual(['admin_malformed', expect.stringMatching(/contains no token/)])
})
