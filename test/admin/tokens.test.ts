import type { Webhooks } from 'geohook/admin'
import type { MockService } from 'geohook/mock'
import { expect, it } from 'vitest'
import { auth, tokenOf } from '../mock/admin/support.ts'
import { errorOf, listOf, PRODUCTS, start, stored } from './support.ts'

/** A token source that signs in at the server of the request. */
const tokenFor = (user: string) => (url: string) => tokenOf({ url: new URL(url).origin } as MockService, user)

const get = (webhooks: Webhooks) => errorOf(webhooks.get('edits'))

it.each(PRODUCTS)('%s: no token, and a wrong one', async (product) => {
  for (const [admin, serviceCode] of [
    [{}, 499],
    [{ token: 'wr0ng-token' }, 498],
  ] as const) {
    const { webhooks } = await start(product, { auth: auth(), admin })
    const error = await get(webhooks)
    expect([error.code, error.serviceCode]).toEqual(['admin_unauthorized', serviceCode])
  }
})

it('a user without the privilege', async () => {
  const { webhooks } = await start('enterprise', { auth: auth(), admin: { token: tokenFor('gp') } })
  const error = await get(webhooks)
  expect([error.code, error.serviceCode]).toEqual(['admin_forbidden', 403])
})

it.each(PRODUCTS)('%s: sends the token in no URL, and in the form of every POST', async (product) => {
  const { mock, webhooks, sent, url } = await start(product, {
    auth: auth(),
    admin: { token: tokenFor('both') },
  })
  mock.restore({ webhooks: [stored(product, { hookUrl: `${url}/hook` })] })
  await webhooks.edit('edits', { name: 'renamed', active: false })
  await webhooks.delete('renamed')
  const isHosted = product === 'online' || product === 'portal'
  for (const { method, form, headers, path } of sent) {
    const header = headers.get('x-esri-authorization')
    if (method === 'GET')
      expect([form.token, header, isHosted]).toEqual([undefined, expect.any(String), false])
    else expect([form.token, header, form.f], path).toEqual([expect.any(String), null, 'json'])
  }
  expect(sent.length).toBeGreaterThan(4)
})

it('renews a rejected token once', async () => {
  const { mock, webhooks, sent } = await start('enterprise', {
    admin: { token: { getToken: async () => 't0ken', refreshCredentials: async () => void renewals++ } },
  })
  let renewals = 0
  mock.faults.add({ fault: 'admin_token_expired', times: 1 })
  await webhooks.edit('edits', { name: 'renamed' })
  expect([renewals, sent.filter(({ method }) => method === 'POST').length]).toEqual([1, 2])
  mock.faults.add({ fault: 'admin_token_expired' })
  const error = await errorOf(webhooks.edit('renamed', { name: 'again' }))
  expect([error.code, error.serviceCode, renewals]).toEqual(['admin_unauthorized', 498, 2])
})

it('repeats a read as POST if the service does not accept the token in a header', async () => {
  const { webhooks, sent } = await start('enterprise', {
    admin: { token: 't0ken' },
    before(req, res) {
      if (req.method === 'GET') res.end('{"error":{"code":499,"message":"Token Required"}}')
      return req.method === 'GET'
    },
  })
  expect((await listOf(webhooks.list())).length).toBe(1)
  expect(sent.map(({ method, form }) => [method, form.token])).toEqual([
    ['GET', undefined],
    ['POST', 't0ken'],
  ])
})

it('a source that gives no token', async () => {
  const { webhooks, sent } = await start('enterprise', {
    admin: {
      token: () => {
        throw new Error('the vault is closed')
      },
    },
  })
  const error = await get(webhooks)
  expect([error.code, error.message, sent]).toEqual([
    'admin_unauthorized',
    expect.stringMatching(/the vault is closed/),
    [],
  ])
})
