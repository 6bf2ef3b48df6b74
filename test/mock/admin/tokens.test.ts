import { createManualClock, type MockService } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FEATURE, NOWHERE, pathOf, post, same, seed, start } from '../support.ts'
import { auth, get, postForm, tokenOf } from './support.ts'

const NOW = 1800000000000
const LIST = '/services/Parcels.FeatureServer/webhooks'
const WHO = { username: 'both', password: 'pw-both' }

const codeOf = (text: string): unknown => (JSON.parse(text) as { code?: number }).code

describe('places of a token', () => {
  type Place = (service: MockService, token: string) => Promise<{ status: number; text: string }>
  const bearer =
    (name: string, scheme: string): Place =>
    (service, token) =>
      get(service.url + LIST, { [name]: `${scheme} ${token}` })

  it.each<[place: string, ask: Place, status: number]>([
    ['the form', (service, token) => post(service, LIST, { token }), 200],
    ['the query of a GET', (service, token) => get(`${service.url}${LIST}?token=${token}`), 200],
    ['the query of a POST', (service, token) => post(service, `${LIST}?token=${token}`, {}), 499],
    ['Authorization', bearer('Authorization', 'Bearer'), 200],
    ['Authorization, in lower case', bearer('authorization', 'bearer'), 200],
    ['X-Esri-Authorization', bearer('X-Esri-Authorization', 'Bearer'), 200],
    ['another scheme', bearer('Authorization', 'Basic'), 499],
    ['another header', bearer('X-Token', 'Bearer'), 499],
    ['a cookie', (service, token) => get(service.url + LIST, { cookie: `token=${token}` }), 499],
    [
      'both headers',
      (service, token) =>
        get(service.url + LIST, {
          authorization: `Bearer ${token}`,
          'x-esri-authorization': `Bearer ${token}`,
        }),
      200,
    ],
    [
      'the form, in addition to the credentials of a proxy',
      (service, token) => postForm(service.url + LIST, { token }, { authorization: 'Basic Zm9vOmJhcg==' }),
      200,
    ],
    [
      'two places that differ',
      (service, token) => postForm(service.url + LIST, { token }, { authorization: 'Bearer other' }),
      400,
    ],
    [
      'the form, twice',
      (service, token) =>
        post(service, LIST, [
          ['token', token],
          ['token', token],
        ]),
      400,
    ],
    ['the form, empty', (service) => post(service, LIST, { token: '' }), 499],
    ['the form, with a space', (service, token) => post(service, LIST, { token: ` ${token}` }), 498],
    ['the form, of 100 kB', (service) => post(service, LIST, { token: 't'.repeat(100_000) }), 498],
    ['the form, as __proto__', (service) => post(service, LIST, { token: '__proto__' }), 498],
  ])('%s', async (_, ask, status) => {
    const service = await start(undefined, { auth: auth() })
    const token = await tokenOf(service, 'both')
    const answer = await ask(service, token)
    expect([answer.status, codeOf(answer.text)]).toEqual([status, status === 200 ? undefined : status])
    expect(answer.text, 'no token in an answer').not.toContain(token)
  })

  it('refuses a token that another mock service issued', async () => {
    const [here, there] = [await start(undefined, { auth: auth() }), await start(undefined, { auth: auth() })]
    expect((await post(here, LIST, { token: await tokenOf(there, 'both') })).status).toBe(498)
  })
})

describe('privileges', () => {
  it('users without a token or the privilege do not learn which services and webhooks exist', async () => {
    const service = await start(undefined, { auth: auth() })
    const gp = await tokenOf(service, 'gp')
    const missing = pathOf({ ...FEATURE, id: 'none', serviceName: 'Roads' })
    for (const parameters of [{}, { token: 'bad' }, { token: gp }]) {
      const [there, nowhere] = await Promise.all(
        [pathOf(FEATURE), missing].map((path) => post(service, `${path}/edit`, parameters)),
      )
      expect(there?.status).toBeGreaterThan(400)
      expect(there?.text).toBe(nowhere?.text)
    }
  })

  it('ownerId and modifiedId are set to the user of the request', async () => {
    const service = await start(undefined, { auth: auth() })
    const [token, other] = [await tokenOf(service, 'both'), await tokenOf(service, 'fs')]
    const { body } = await post(service, `${LIST}/create`, { token, name: 'new', hookUrl: NOWHERE })
    expect(body).toMatchObject({ ownerId: 'both', modifiedId: 'both' })
    const edited = await post(service, `${LIST}/${body.id}/edit`, {
      ...same(seed(FEATURE, { name: 'new' })),
      token: other,
    })
    expect(edited.body).toMatchObject({ ownerId: 'both', modifiedId: 'fs' })
  })

  it('the messages of the documented codes say what is missing or wrong', async () => {
    const service = await start(undefined, { auth: auth() })
    const gp = await tokenOf(service, 'gp')
    const messages = async (path: string, parameters: Record<string, string>) =>
      (await post(service, path, parameters)).body.messages
    expect(await messages(LIST, {})).toEqual(['a token is required'])
    expect(await messages(LIST, { token: 'bad' })).toEqual(['the token is invalid or has expired'])
    expect(await messages(LIST, { token: gp })).toEqual(['this needs the Feature layer privilege'])
    expect(await messages('/services/webhooks', { token: await tokenOf(service, 'neither') })).toEqual([
      'this needs the Geoprocessing privilege and the Feature layer privilege',
    ])
  })

  it('can be implemented by a custom object', async () => {
    const asked: [string, number][] = []
    const service = await start(undefined, {
      clock: createManualClock(NOW),
      auth: {
        authenticate: async (token, now) => {
          asked.push([token, now])
          if (token === 'broken') throw new Error('the directory is at 10.0.0.1')
          return token === 'good' ? { username: 'carol', privileges: ['features'] } : undefined
        },
      },
    })
    const edit = (token: string) => post(service, `${pathOf(FEATURE)}/edit`, { ...same(FEATURE), token })
    expect((await edit('good')).body.modifiedId).toBe('carol')
    expect((await edit('other')).status).toBe(498)
    const broken = await edit('broken')
    expect([broken.status, broken.body.messages]).toEqual([500, ['internal error']])
    expect(asked).toEqual(['good', 'other', 'broken'].map((token) => [token, NOW]))
    expect((await post(service, '/generateToken', WHO)).status).toBe(404)
  })
})
