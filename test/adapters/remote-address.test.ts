import express from 'express'
import express4 from 'express4'
import { createReceiver, type KeyFunction, type RequestHead } from 'geohook'
import { webhook } from 'geohook/express'
import { webhook as honoWebhook } from 'geohook/hono'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { MOUNTS } from '../helpers/mounts.ts'
import { warningsOf } from '../helpers/warnings.ts'

const headers = {
  'content-type': JSON_TYPE,
  'x-service': signatureOf('{}'),
  'x-forwarded-for': '203.0.113.9',
  'cf-connecting-ip': '203.0.113.9',
  'x-real-ip': '203.0.113.9',
}
const signed = { headers, body: '{}' }

/** Platforms that do not pass the address of the peer, or pass another one than 127.0.0.1. */
const OTHERS: Record<string, string | undefined> = {
  'Lambda REST API': '192.0.2.1',
  'Lambda HTTP API': '192.0.2.1',
  'Lambda function URL': '192.0.2.1',
  'Lambda ALB': undefined,
  'Lambda ALB multi-value': undefined,
  'Azure Functions': undefined,
  'Azure Functions (streams)': undefined,
}

describe('remoteAddress', () => {
  it.each(Object.entries(MOUNTS))(
    'is the address of the peer, not one from a header: %s',
    async (name, { mount }) => {
      const seen: (string | undefined)[] = []
      const see = ({ remoteAddress }: RequestHead) => seen.push(remoteAddress)
      const signatureKey: KeyFunction = (head) => {
        see(head)
        return KEY
      }
      const handled = ({ request }: { request: RequestHead }) => see(request)
      const mounted = await mount(createReceiver({ signatureKey, observer: { handled } }).on('*', () => {}))
      onTestFinished(() => mounted.close())
      expect((await send(mounted.url, signed)).status).toBe(200)
      const address = name in OTHERS ? OTHERS[name] : '127.0.0.1'
      expect(seen).toEqual([address, address])
    },
  )

  it('is known for a sender that disconnects before its body is complete', async () => {
    const seen: RequestHead[] = []
    const observer = { refused: ({ request }: { request: RequestHead }) => seen.push(request) }
    const app = express().post(
      '/hook',
      webhook(createReceiver({ signatureKey: KEY, observer }).on('*', () => {})),
    )
    const mounted = await listen((req, res) => {
      app(req, res)
      req.socket.destroy()
    })
    onTestFinished(() => mounted.close())
    await expect(
      send(mounted.url, { headers: { ...headers, 'content-length': 9 }, body: '{' }),
    ).rejects.toThrow()
    await expect
      .poll(() => seen.map(({ remoteAddress }) => remoteAddress), { timeout: 60_000 })
      .toEqual(['127.0.0.1'])
  })

  it.each([
    ['Deno.serve', { remoteAddr: { hostname: '192.0.2.7' } }, '192.0.2.7'],
    ['Bun.serve', { requestIP: (request: unknown) => request && { address: '192.0.2.8' } }, '192.0.2.8'],
    ['@hono/node-server', { incoming: { socket: { remoteAddress: '192.0.2.9' } } }, '192.0.2.9'],
    ['a Worker', { remoteAddr: 'binding', incoming: 7 }, undefined],
    ['an unrelated context', { requestIP: () => expect.unreachable() }, undefined],
    ['nothing', undefined, undefined],
  ])('is taken from what %s passes with a web request', async (_, server, address) => {
    const seen: (string | undefined)[] = []
    const observer = {
      handled: ({ request }: { request: RequestHead }) => seen.push(request.remoteAddress),
    }
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => {})
    const create = () => new Request('http://a.example/', { method: 'POST', ...signed })
    expect((await receiver.fetch(create(), server)).status).toBe(200)
    expect((await new Hono().post('/', honoWebhook(receiver)).fetch(create(), server)).status).toBe(200)
    expect(seen).toEqual([address, address])
  })

  const thrower = (name: string): { socket?: unknown } =>
    Object.defineProperty({}, name, {
      get() {
        throw new Error('not a socket')
      },
    })

  it.each<[string, { get?: () => unknown; value?: unknown }]>([
    ['a socket that throws', { get: () => thrower('socket').socket }],
    ['a socket whose remoteAddress throws', { value: thrower('remoteAddress') }],
    ['a socket with a number as remoteAddress', { value: { remoteAddress: 7 } }],
    ['no socket', { value: undefined }],
  ])('is undefined for a request that has %s', async (_, socket) => {
    const seen: unknown[] = []
    const observer = { handled: ({ request }: { request: RequestHead }) => seen.push(request.remoteAddress) }
    const listener = webhook(createReceiver({ signatureKey: KEY, observer }).on('*', () => {}))
    const mounted = await listen((req, res) => {
      const get = (target: object, name: string) => {
        if (name === 'socket') return socket.get ? socket.get() : socket.value
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      }
      void listener(new Proxy(req, { get }) as never, res).catch(() => res.destroy())
    })
    onTestFinished(() => mounted.close())
    expect((await send(mounted.url, signed)).status).toBe(200)
    expect(seen).toEqual([undefined])
  })

  it('is undefined for a web request whose runtime throws', async () => {
    const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
    const request = new Request('http://a.example/', { method: 'POST', ...signed })
    const { get } = Object.getOwnPropertyDescriptor(thrower('runtime'), 'runtime') ?? {}
    expect(
      (await receiver.fetch(Object.defineProperty(request, 'runtime', { get: get as never }))).status,
    ).toBe(200)
  })
})

describe.each<[string, typeof express]>([
  ['Express 5', express],
  ['Express 4', express4],
])('in %s, a key function under a mounted router', (_, framework) => {
  const KEYS: Record<string, string> = { lyon: KEY }

  async function post(mergeParams: boolean): Promise<[status: number, params: unknown[]]> {
    const params: unknown[] = []
    const signatureKey: KeyFunction = (request) => {
      params.push({ ...request.params })
      return KEYS[`${request.params?.tenant}`]
    }
    const layers = framework.Router({ mergeParams })
    layers.post('/:layer/hook', webhook(createReceiver({ signatureKey }).on('*', () => {})))
    const tenants = framework.Router({ mergeParams }).use('/:tenant/layers', layers)
    const mounted = await listen(framework().use('/api/:version', tenants))
    onTestFinished(() => mounted.close())
    const { status } = await send(new URL('/api/v1/lyon/layers/7/hook', mounted.url).href, signed)
    return [status, params]
  }

  it('gets the parameters of all routers with mergeParams', async () => {
    expect(await post(true)).toEqual([200, [{ version: 'v1', tenant: 'lyon', layer: '7' }]])
  })

  it('gets only those of its own router without it, and the warning names mergeParams', async () => {
    const lines = await warningsOf(async () => {
      expect(await post(false)).toEqual([401, [{ layer: '7' }]])
    })
    expect(lines).toEqual([
      expect.stringMatching(
        /^key_unknown: \/api\/v1\/lyon\/layers\/7\/hook: .*Router\(\{ mergeParams: true \}\)/,
      ),
    ])
  })
})
