import { createManualClock, type MockService, tokens } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FEATURE, NOWHERE, pathOf, post, same, seed, start } from '../support.ts'
import { auth, get, postForm, tokenOf } from './support.ts'

const NOW = 1800000000000
const MINUTE = 60_000
const LIST = '/services/Parcels.FeatureServer/webhooks'
const WHO = { username: 'both', password: 'pw-both' }

const codeOf = (text: string): unknown => (JSON.parse(text) as { code?: number }).code

describe('generateToken', () => {
  it.each<[expiration: string | undefined, minutes: number]>([
    [undefined, 60],
    ['', 60],
    ['1', 1],
    ['20160', 20160],
  ])('expiration %s: good for %i minutes, to the millisecond', async (expiration, minutes) => {
    const clock = createManualClock(NOW)
    const service = await start(undefined, { auth: auth(), clock })
    const { status, body } = await post(service, '/generateToken', {
      ...WHO,
      ...(expiration === undefined ? {} : { expiration }),
    })
    expect([status, body]).toEqual([
      200,
      { token: expect.stringMatching(/^[\w-]{43}$/), expires: NOW + minutes * MINUTE },
    ])
    const token = String(body.token)
    await clock.advance(minutes * MINUTE - 1)
    expect((await post(service, LIST, { token })).status).toBe(200)
    await clock.advance(1)
    expect((await post(service, LIST, { token })).status).toBe(498)
  })

  it('has a default that can be set', async () => {
    const service = await start(undefined, {
      auth: tokens({ users: [{ ...WHO, privileges: [] }], expiration: 5 }),
      clock: createManualClock(NOW),
    })
    expect((await post(service, '/generateToken', WHO)).body.expires).toBe(NOW + 5 * MINUTE)
  })

  it('gives out a different token each time, and all of them are good', async () => {
    const service = await start(undefined, { auth: auth() })
    const [first, second] = [await tokenOf(service, 'both'), await tokenOf(service, 'both')]
    expect(first).not.toBe(second)
    for (const token of [first, second]) expect((await post(service, LIST, { token })).status).toBe(200)
  })

  it.each<[what: string, parameters: Record<string, string> | [string, string][], message: RegExp]>([
    ['a wrong password', { ...WHO, password: 'pw-gp' }, /^Invalid username or password$/],
    ['an unknown user', { ...WHO, username: 'mallory' }, /^Invalid username or password$/],
    ['__proto__', { ...WHO, username: '__proto__' }, /^Invalid username or password$/],
    ['a user in capitals', { ...WHO, username: 'BOTH' }, /^Invalid username or password$/],
    ['no user', { password: 'pw-both' }, /^username is required$/],
    ['no password', { username: 'both' }, /^password is required$/],
    ['two passwords', [...Object.entries(WHO), ['password', 'x']], /^password is given more than once$/],
    [
      'an expiration of 0',
      { ...WHO, expiration: '0' },
      /^expiration must be a whole number from 1 to 20160$/,
    ],
    ['an expiration over two weeks', { ...WHO, expiration: '20161' }, /^expiration must be/],
    ['an expiration that is no number', { ...WHO, expiration: '1e3' }, /^expiration must be/],
    [
      'a client that is none',
      { ...WHO, client: 'browser' },
      /^client must be one of referer, ip, requestip$/,
    ],
  ])('%s: 400, and the password is not in the answer', async (_, parameters, message) => {
    const service = await start(undefined, { auth: auth() })
    for (const f of ['json', 'html']) {
      const fields: [string, string][] = Array.isArray(parameters) ? parameters : Object.entries(parameters)
      const { status, text } = await postForm(`${service.url}/generateToken`, [...fields, ['f', f]])
      expect(status).toBe(400)
      if (f === 'json') expect(JSON.parse(text).messages).toEqual([expect.stringMatching(message)])
      expect(text).not.toMatch(/pw-/)
    }
  })

  it('takes what clients send along, and does nothing with it', async () => {
    const service = await start(undefined, { auth: auth() })
    const sent = { ...WHO, client: 'referer', referer: 'https://gis.example', ip: '10.0.0.1' }
    expect((await post(service, '/generateToken', sent)).status).toBe(200)
  })

  it('is there for POST only, and only where there are tokens', async () => {
    const on = await start(undefined, { auth: auth() })
    expect((await get(`${on.url}/generateToken?username=both&password=pw-both`)).status).toBe(405)
    expect((await post(await start(), '/generateToken', WHO)).status).toBe(404)
  })

  it.each([
    ['two users of one name', [WHO, WHO].map((who) => ({ ...who, privileges: [] })), undefined],
    ['an empty password', [{ username: 'a', password: '', privileges: [] }], undefined],
    ['an unknown privilege', [{ ...WHO, privileges: ['root'] }], undefined],
    ['an expiration over two weeks', [], 20161],
    ['an expiration of 0', [], 0],
  ])('tokens() refuses %s', (_, users, expiration) => {
    expect(() => tokens({ users: users as [], expiration })).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.not.stringContaining('pw-') }),
    )
  })
})

describe('where a token may stand', () => {
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
      'the form, beside the credentials of a proxy',
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

  it('a token of another service is not good here', async () => {
    const [here, there] = [await start(undefined, { auth: auth() }), await start(undefined, { auth: auth() })]
    expect((await post(here, LIST, { token: await tokenOf(there, 'both') })).status).toBe(498)
  })
})

describe('who may', () => {
  it('a stranger learns nothing of what exists, and who lacks the privilege neither', async () => {
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

  it('ownerId and modifiedId are who acts', async () => {
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

  it('the documented codes come with messages that say what to do', async () => {
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

  it('can be decided by somebody else', async () => {
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

describe('how many tokens there are', () => {
  const make = async (port: ReturnType<typeof tokens>, now: number, minutes?: number): Promise<string> =>
    (await port.generateToken?.({ ...WHO, minutes }, now))?.token ?? ''

  it('over 10,000 the oldest is forgotten, after those that have expired', async () => {
    const port = auth()
    const oldest = await make(port, NOW)
    const short = await make(port, NOW, 1)
    for (let i = 2; i < 10_000; i++) await make(port, NOW)
    expect([await port.authenticate(oldest, NOW), await port.authenticate(short, NOW)]).not.toContain(
      undefined,
    )
    const later = NOW + MINUTE
    await make(port, later)
    expect(await port.authenticate(oldest, later), 'the expired one made room').toBeDefined()
    await make(port, later)
    expect(await port.authenticate(oldest, later)).toBeUndefined()
  })
})
