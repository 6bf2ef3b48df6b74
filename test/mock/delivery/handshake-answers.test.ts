import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import { base64Of, KEY, signatureOf } from '../../helpers/deliver.ts'
import { unusedUrl } from '../../helpers/target.ts'
import { create } from '../support.ts'
import {
  arcgisReceiver,
  handshaker,
  hear,
  methodsOf,
  rightAnswer,
  toHook,
  tokenOf,
} from './handshake-support.ts'
import { CREATED, statusesOf } from './support.ts'

const json =
  (toBody: (url: string) => unknown): RequestListener =>
  ({ url = '' }, res) =>
    void res.setHeader('content-type', 'application/json').end(JSON.stringify(toBody(url)))

const signed = (url: string, key = KEY): string => `sha256=${base64Of(tokenOf(url), key)}`

describe('a handshake', () => {
  it('is answered by a receiver with the profile arcgis, and deliveries follow', async () => {
    const receiver = await arcgisReceiver()
    const service = create([toHook(`${receiver.url}?tenant=a%20b+c&x`)], {
      like: { dialect: 'hosted', handshake: true },
    })
    const { notices } = hear(service)
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect(notices).toEqual(['ok'])
    expect(receiver.handled).toEqual(['FeaturesCreated', 'FeaturesCreated'])
    expect(receiver.handshakes).toEqual([
      expect.stringMatching(/^\/hook\?tenant=a%20b\+c&x&crc_token=[\w-]{32}$/),
    ])
  })

  it('has another token each time', async () => {
    const receiver = await arcgisReceiver()
    const webhooks = ['a', 'b', 'c'].map((id) => toHook(receiver.url, { id, name: id }))
    const service = create(webhooks, { like: { dialect: 'hosted', handshake: true } })
    await service.trigger(CREATED)
    expect(new Set(receiver.handshakes.map(tokenOf)).size).toBe(3)
  })

  it('is a GET request without a body and without the key', async () => {
    const { url, requests } = await handshaker(({ url }, res) => void res.end(rightAnswer(url)))
    const service = create([toHook(url)], { like: { handshake: true } })
    await service.trigger(CREATED)
    const [handshake, delivery] = requests
    expect([handshake?.method, delivery?.method]).toEqual(['GET', 'POST'])
    expect(handshake?.body.length).toBe(0)
    expect(handshake?.headers['content-length']).toBeUndefined()
    expect(JSON.stringify(handshake)).not.toContain(KEY)
  })

  it.each<[what: string, answer: RequestListener, reason: string]>([
    [
      'signs with another key',
      json((url) => ({ response_token: signed(url, 'other') })),
      'the signature is wrong',
    ],
    ['signs another text', json(() => ({ response_token: signed('') })), 'the signature is wrong'],
    [
      'signs in hex',
      json((url) => ({ response_token: `sha256=${signatureOf(tokenOf(url))}` })),
      'the signature is wrong',
    ],
    [
      'leaves out the prefix',
      json((url) => ({ response_token: base64Of(tokenOf(url)) })),
      'response_token does not begin with sha256=',
    ],
    [
      'uses another member',
      json((url) => ({ responseToken: signed(url) })),
      'the answer has no response_token',
    ],
    [
      'inherits the member',
      json(() => JSON.parse('{"__proto__":{"response_token":"sha256=x"}}')),
      'the answer has no response_token',
    ],
    ['answers with a number', json(() => ({ response_token: 1 })), 'response_token is not a string'],
    ['answers with an array', json((url) => [signed(url)]), 'the answer is not a JSON object'],
    ['answers with null', json(() => null), 'the answer is not a JSON object'],
    [
      'answers with text',
      ({ url = '' }, res) => void res.end(signed(url)),
      'the answer is not a JSON object',
    ],
    ['answers with nothing', (_, res) => void res.end(), 'the answer is not a JSON object'],
    ['answers 202', ({ url }, res) => void res.writeHead(202).end(rightAnswer(url)), 'status 202'],
    ['answers 405', (_, res) => void res.writeHead(405).end(), 'status 405'],
    [
      'redirects',
      (_, res) => void res.writeHead(302, { location: '/elsewhere' }).end(),
      'status 302: redirects are not followed',
    ],
    [
      'answers with a huge body',
      ({ url }, res) => void res.end(`${' '.repeat(100_000)}${rightAnswer(url)}`),
      'the answer has 64 KiB or more',
    ],
    ['hangs up', (req) => void req.socket.destroy(), 'socket hang up'],
  ])('fails if the receiver %s', async (_what, answer, reason) => {
    const { url, requests } = await handshaker(answer)
    const service = create([toHook(url)], { like: { handshake: true } })
    const { notices } = hear(service)
    expect(await service.trigger([CREATED, CREATED])).toEqual([])
    expect(notices).toEqual([`failed: ${reason}`, `2 not sent: ${reason}`])
    expect(methodsOf(requests)).toBe('GET')
    expect(service.deliveries).toEqual([])
    expect(service.snapshot()).toMatchObject({
      webhooks: [{ active: true }],
      failures: [],
      handshakes: [{ reason, notSent: 2 }],
    })
  })

  it('fails after 5 s without an answer, and the deliveries that wait are not sent', async () => {
    const late = await handshaker(() => {})
    const slow = await handshaker((_, res) => void res.write('{"response_token":'))
    const service = create([toHook(late.url), toHook(slow.url, { id: 'slow', name: 'slow' })], {
      like: { handshake: true },
    })
    const { notices } = hear(service)
    const started = performance.now()
    expect(await service.trigger(CREATED)).toEqual([])
    const seconds = (performance.now() - started) / 1000
    expect(seconds).toBeGreaterThan(4.9)
    expect(notices.sort()).toEqual([
      '1 not sent: no response within 5 s',
      'failed: no response within 5 s',
      'slow: 1 not sent: no response within 5 s',
      'slow: failed: no response within 5 s',
    ])
  }, 20_000)

  it('fails if nothing listens, or if the host is not allowed', async () => {
    const url = await unusedUrl()
    const service = create(
      [toHook(url), toHook('http://receiver.example/hook', { id: 'far', name: 'far' })],
      { like: { handshake: true } },
    )
    const { notices } = hear(service)
    expect(await service.trigger(CREATED)).toEqual([])
    const reason = 'the host is not on this machine and not in allowHosts'
    expect(notices.sort()).toEqual([
      expect.stringMatching(/^1 not sent: .*ECONNREFUSED/),
      expect.stringMatching(/^failed: .*ECONNREFUSED/),
      `far: 1 not sent: ${reason}`,
      `far: failed: ${reason}`,
    ])
  })

  it('fails for the profile service, whose receivers do not answer handshakes', async () => {
    const receiver = await arcgisReceiver({ profile: 'service' })
    const service = create([toHook(receiver.url)], { like: { handshake: true } })
    const { notices } = hear(service)
    await service.trigger(CREATED)
    expect(notices[0]).toBe('failed: status 405')
  })

  it('of two webhooks at one URL fails for the one whose key the receiver does not have', async () => {
    const receiver = await arcgisReceiver()
    const other = toHook(receiver.url, { id: 'other', name: 'other', signatureKey: 'another key' })
    const service = create([toHook(receiver.url), other], { like: { dialect: 'hosted', handshake: true } })
    const { notices } = hear(service)
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect(notices.sort()).toEqual([
      'ok',
      'other: 1 not sent: the signature is wrong',
      'other: failed: the signature is wrong',
    ])
    expect(receiver.handled).toEqual(['FeaturesCreated'])
  })

  it('is not sent for a webhook without a key, whose deliveries are unsigned', async () => {
    const { url, requests } = await handshaker(() => {})
    const service = create([toHook(url, { signatureKey: '' })], { like: { handshake: true } })
    const { notices } = hear(service)
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect([methodsOf(requests), notices]).toEqual(['POST', []])
  })

  it('is not sent by default', async () => {
    const { url, requests } = await handshaker(() => {})
    for (const handshake of [undefined, false])
      await create([toHook(url)], { like: { handshake } }).trigger(CREATED)
    expect(methodsOf(requests)).toBe('POST POST')
  })

  it.each<[string, object]>([
    ['text', { handshake: 'often' }],
    ['zero minutes', { handshake: 0 }],
    ['more than a week', { handshake: 10_081 }],
    ['parts of a minute', { handshake: 1.5 }],
    ['an unknown member', { handshake: { minutes: 5 } }],
  ])('rejects %s as option', (_what, options) => {
    expect(() => create([], options)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })
})
