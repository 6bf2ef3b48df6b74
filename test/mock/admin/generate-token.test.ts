import { createManualClock, createTokens } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { post, start } from '../support.ts'
import { auth, get, postForm, tokenOf } from './support.ts'

const NOW = 1800000000000
const MINUTE = 60_000
const LIST = '/services/Parcels.FeatureServer/webhooks'
const WHO = { username: 'both', password: 'pw-both' }

describe('generateToken', () => {
  it.each<[expiration: string | undefined, minutes: number]>([
    [undefined, 60],
    ['', 60],
    ['1', 1],
    ['20160', 20160],
  ])('a token with expiration %s is valid for exactly %i minutes', async (expiration, minutes) => {
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

  it('has a configurable default lifetime', async () => {
    const service = await start(undefined, {
      auth: createTokens({ users: [{ ...WHO, privileges: [] }], expiration: 5 }),
      clock: createManualClock(NOW),
    })
    expect((await post(service, '/generateToken', WHO)).body.expires).toBe(NOW + 5 * MINUTE)
  })

  it('issues a different token each time, and earlier tokens stay valid', async () => {
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
    ['a non-numeric expiration', { ...WHO, expiration: '1e3' }, /^expiration must be/],
    ['an unknown client', { ...WHO, client: 'browser' }, /^client must be one of referer, ip, requestip$/],
  ])('returns 400 without the password: %s', async (_, parameters, message) => {
    const service = await start(undefined, { auth: auth() })
    for (const f of ['json', 'html']) {
      const fields: [string, string][] = Array.isArray(parameters) ? parameters : Object.entries(parameters)
      const { status, text } = await postForm(`${service.url}/generateToken`, [...fields, ['f', f]])
      expect(status).toBe(400)
      if (f === 'json') expect(JSON.parse(text).messages).toEqual([expect.stringMatching(message)])
      expect(text).not.toMatch(/pw-/)
    }
  })

  it('ignores additional parameters that clients send', async () => {
    const service = await start(undefined, { auth: auth() })
    const sent = { ...WHO, client: 'referer', referer: 'https://gis.example', ip: '10.0.0.1' }
    expect((await post(service, '/generateToken', sent)).status).toBe(200)
  })

  it('accepts only POST, and exists only if the service uses tokens', async () => {
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
  ])('createTokens() refuses %s', (_, users, expiration) => {
    expect(() => createTokens({ users: users as [], expiration })).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.not.stringContaining('pw-') }),
    )
  })

  it.each([undefined, null, { users: [], expirationMinutes: 5 }])('createTokens() refuses %j', (options) => {
    expect(() => createTokens(options as never)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })
})

describe('number of tokens', () => {
  const make = async (
    port: ReturnType<typeof createTokens>,
    now: number,
    minutes?: number,
  ): Promise<string> => (await port.generateToken?.({ ...WHO, minutes }, now))?.token ?? ''

  it('the 10,001st token evicts expired tokens, or the oldest token if none has expired', async () => {
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
