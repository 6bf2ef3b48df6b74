import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { createReceiver, type Delivery, type Inbox } from 'geohook'
import { webhook } from 'geohook/hono'
import { createPayload, createSigner, type SignedRequest } from 'geohook/testing'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { compress } from 'hono/compress'
import { cors } from 'hono/cors'
import { HTTPException } from 'hono/http-exception'
import { logger } from 'hono/logger'
import { validator } from 'hono/validator'
import { describe, expect, it } from 'vitest'
import { type Answer, send } from '../helpers/http.ts'
import { listenHono } from '../helpers/mounts/web.ts'
import { createRecorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const signer = createSigner({ signatureKey })
const payload = createPayload(['FeaturesCreated', 'FeaturesUpdated'])
const signed = await signer.sign(payload)
const CHANGE_TYPES = '["FeaturesCreated","FeaturesUpdated"]'

/** A body that no serializer would produce. */
const EXACT = Buffer.from('\ufeff{"a": 1.0,\r\n"b":"\\u00e9"}\r\n')

type Post = (app: Hono, path?: string, sent?: SignedRequest) => Promise<Pick<Answer, 'status' | 'text'>>

/** Posts in memory, as a user's tests do: without a socket, `executionCtx` or `env`. */
const inMemory: Post = async (app, path = '/hook', { headers, body } = signed) => {
  const response = await app.request(path, { method: 'POST', headers, body })
  return { status: response.status, text: await response.text() }
}

const overSocket: Post = async (app, path = '/hook', { headers, body } = signed) => {
  const mounted = await listenHono(app)
  try {
    return await send(new URL(path, mounted.url).href, { headers: { ...headers }, body })
  } finally {
    await mounted.close()
  }
}

describe.each([
  ['app.request()', inMemory],
  ['@hono/node-server', overSocket],
])('webhook() in Hono, with %s', (_, post) => {
  it('as middleware, verifies the request, sets delivery and runs the next handler', async () => {
    const app = new Hono()
    app.post('/hook', webhook({ signatureKey }), (c) => {
      expect(c.var.delivery).toBe(c.get('delivery'))
      return c.json(c.get('delivery').changeTypes)
    })
    expect(await post(app)).toMatchObject({ status: 200, text: CHANGE_TYPES })
    const headers = { ...signed.headers, 'x-service': '0'.repeat(64) }
    expect((await post(app, '/hook', { ...signed, headers })).status).toBe(401)
  })

  it('responds itself, without calling next, if the receiver has handlers', async () => {
    const receiver = createReceiver({ signatureKey }).on('FeaturesCreated', () => {})
    const app = new Hono()
    app.post('/hook', webhook(receiver), () => {
      throw new Error('not to be called')
    })
    expect(await post(app)).toMatchObject({ status: 200, text: '{"status":"handled"}' })
  })

  it('responds with 202 itself if the receiver has an inbox', async () => {
    const stored: Delivery[] = []
    const inbox: Inbox = { put: async (delivery) => void stored.push(delivery) }
    const app = new Hono()
    app.post('/hook', webhook({ signatureKey, inbox }))
    expect(await post(app)).toMatchObject({ status: 202, text: '{"status":"stored"}' })
    expect(stored.length).toBe(1)
  })

  it('passes the complete URL and the route parameters to the key function, also in a nested app', async () => {
    const keyRequests: unknown[] = []
    const hooks = new Hono()
    const receiver = createReceiver({
      signatureKey: ({ url, params }) => {
        const { pathname, search } = new URL(url)
        keyRequests.push(pathname + search, params)
        return signatureKey
      },
    })
    hooks.post('/:tenant/:layer', webhook(receiver), (c) => c.body(null, 204))
    const app = new Hono().route('/hooks', hooks)
    expect((await post(app, '/hooks/lyon%C3%A9/a%2Fb?x=1&x=2')).status).toBe(204)
    expect(keyRequests).toEqual(['/hooks/lyon%C3%A9/a%2Fb?x=1&x=2', { tenant: 'lyoné', layer: 'a/b' }])
  })

  it('supports two webhooks in one app', async () => {
    const [a, b] = [createRecorder(), createRecorder()]
    const app = new Hono()
    app.post('/a', webhook({ signatureKey, observer: a.observer }), (c) => c.text('a'))
    app.post('/b', webhook({ signatureKey: 'another', observer: b.observer }), (c) => c.text('b'))
    expect((await post(app, '/a')).text).toBe('a')
    expect((await post(app, '/b')).status).toBe(401)
    expect([a.lines, b.lines]).toEqual([['accepted', 'handled'], ['refused signature_mismatch']])
  })

  it.each<[string, MiddlewareHandler]>([
    ['bodyLimit', bodyLimit({ maxSize: 10_000 })],
    ['logger', logger(() => {})],
    ['compress', compress({ threshold: 0 })],
    ['cors', cors()],
  ])('works after %s', async (_name, middleware) => {
    const app = new Hono().use(middleware)
    app.post('/hook', webhook({ signatureKey }), (c) => c.json(c.get('delivery').changeTypes))
    expect(await post(app)).toMatchObject({ status: 200, text: CHANGE_TYPES })
    expect((await post(app, '/hook', { ...signed, body: '{}' })).status).toBe(401)
  })

  it('works in app.mount, with and without an inner Hono app', async () => {
    const receiver = createReceiver({ signatureKey }).on('*', () => {})
    const inner = new Hono().post('/hook', webhook(receiver))
    const app = new Hono().mount('/hono', inner.fetch).mount('/bare', (request) => receiver.fetch(request))
    expect((await post(app, '/hono/hook')).status).toBe(200)
    expect((await post(app, '/bare/hook')).status).toBe(200)
  })

  it.each<[string, MiddlewareHandler]>([
    ['c.req.json()', (c, next) => c.req.json().then(next)],
    ['c.req.text()', (c, next) => c.req.text().then(next)],
    [
      'c.req.text(), then c.req.arrayBuffer()',
      (c, next) =>
        c.req
          .text()
          .then(() => c.req.arrayBuffer())
          .then(next),
    ],
    ['c.req.blob()', (c, next) => c.req.blob().then(next)],
    ['c.req.raw.text()', (c, next) => c.req.raw.text().then(next)],
    ['a validator', validator('json', (value) => value)],
  ])('returns 500 immediately if %s has read the body', async (_name, reader) => {
    const { observer, calls } = createRecorder()
    const app = new Hono().use(reader)
    app.post('/hook', webhook({ signatureKey, observer }), () => {
      throw new Error('not to be called')
    })
    expect(await post(app)).toMatchObject({
      status: 500,
      text: '{"title":"Body already parsed","status":500,"code":"body_already_parsed"}',
    })
    expect(calls.map(({ code, error }) => [code, error?.hint])).toEqual([
      ['body_already_parsed', expect.stringContaining('c.req.json()')],
    ])
  })

  it.each<[string, MiddlewareHandler]>([
    ['c.req.arrayBuffer()', (c, next) => c.req.arrayBuffer().then(next)],
    [
      'c.req.arrayBuffer(), then c.req.json()',
      (c, next) =>
        c.req
          .arrayBuffer()
          .then(() => c.req.json())
          .then(next),
    ],
  ])('accepts the bytes that %s has cached, within the limit', async (_name, reader) => {
    const { observer, calls } = createRecorder()
    const exact = await signer.sign(EXACT)
    const app = new Hono().use(reader)
    app.post('/hook', webhook({ signatureKey, observer }), (c) =>
      c.text(Buffer.from(c.get('delivery').rawBody).toString('hex')),
    )
    app.post('/small', webhook({ signatureKey, observer, limit: EXACT.length - 1 }))
    expect(await post(app, '/hook', exact)).toMatchObject({ status: 200, text: EXACT.toString('hex') })
    expect((await post(app, '/small', exact)).status).toBe(413)
    expect(calls.map(({ name }) => name)).toEqual(['accepted', 'handled', 'refused'])
  })

  it.each<[string, (c: Context) => Promise<unknown>, unknown]>([
    ['c.req.json()', (c) => c.req.json(), { a: 1, b: 'é' }],
    ['c.req.text()', (c) => c.req.text(), '{"a": 1.0,\r\n"b":"\\u00e9"}\r\n'],
    ['c.req.bytes()', async (c) => [...(await c.req.bytes())], [...EXACT]],
    [
      'c.req.arrayBuffer(), changed',
      async (c) => {
        const bytes = new Uint8Array(await c.req.arrayBuffer()).fill(0)
        return [bytes.length, Buffer.from(c.get('delivery').rawBody).equals(EXACT)]
      },
      [EXACT.length, true],
    ],
    ['c.req.blob()', async (c) => (await c.req.blob()).size, EXACT.length],
  ])('leaves the body readable by %s', async (_name, read, expected) => {
    const app = new Hono()
    app.post('/hook', webhook({ signatureKey }), async (c) => c.json((await read(c)) as object))
    const { status, text } = await post(app, '/hook', await signer.sign(EXACT))
    expect([status, JSON.parse(text)]).toEqual([200, expected])
  })

  it('leaves the body readable by validators', async () => {
    const app = new Hono()
    app.post(
      '/hook',
      webhook({ signatureKey }),
      validator('json', (value) => Object.keys(value)),
      (c) => c.json(c.req.valid('json')),
    )
    const { status, text } = await post(app)
    expect([status, JSON.parse(text)]).toEqual([200, Object.keys(payload)])
  })

  it('leaves a form readable by c.req.parseBody(), c.req.formData() and validators', async () => {
    const form = await createSigner({
      signatureKey,
      contentType: 'application/x-www-form-urlencoded',
    }).sign(payload)
    const app = new Hono()
    app.post('/parse', webhook({ signatureKey }), async (c) => c.json(await c.req.parseBody()))
    app.post('/data', webhook({ signatureKey }), async (c) => c.json([...(await c.req.formData()).keys()]))
    app.post(
      '/valid',
      webhook({ signatureKey }),
      validator('form', (value) => value),
      (c) => c.json(c.req.valid('form')),
    )
    const fields = { payload: JSON.stringify(payload) }
    expect(JSON.parse((await post(app, '/parse', form)).text)).toEqual(fields)
    expect(JSON.parse((await post(app, '/data', form)).text)).toEqual(['payload'])
    expect(JSON.parse((await post(app, '/valid', form)).text)).toEqual(fields)
  })

  it('reports the outcome of the next handler to the observer, without changing its response', async () => {
    const handlers: Record<string, MiddlewareHandler> = {
      fine: async (c) => c.text('mine', 202),
      broken: async (c) => c.text('mine', 503),
      throwing: () => Promise.reject(new Error('oops')),
      exception: () => Promise.reject(new HTTPException(422, { message: 'mine' })),
      missing: async (_c, next) => next(),
      forgotten: async () => undefined,
    }
    const results: Record<string, unknown> = {}
    for (const [name, handler] of Object.entries(handlers)) {
      const recorder = createRecorder()
      const app = new Hono().onError((error, c) =>
        error instanceof HTTPException ? error.getResponse() : c.text('from onError', 500),
      )
      app.post('/hook', webhook({ signatureKey, observer: recorder.observer }), handler)
      const { status, text } = await post(app)
      results[name] = [status, text, recorder.lines]
    }
    const FAILED = ['accepted', 'failed handler_failed']
    expect(results).toEqual({
      fine: [202, 'mine', ['accepted', 'handled']],
      broken: [503, 'mine', FAILED],
      throwing: [500, 'from onError', FAILED],
      exception: [422, 'mine', ['accepted', 'handled']],
      missing: [404, '404 Not Found', ['accepted', 'handled']],
      forgotten: [500, 'from onError', FAILED],
    })
  })
})

it('accepts a body without content-length that bodyLimit has read', async () => {
  const app = new Hono().use(bodyLimit({ maxSize: 10_000 }))
  app.post('/hook', webhook({ signatureKey }), (c) => c.json(c.get('delivery').changeTypes))
  const mounted = await listenHono(app)
  const chunks = [signed.bytes.subarray(0, 20), signed.bytes.subarray(20)]
  const answer = await send(mounted.url, { headers: { ...signed.headers }, chunks })
  await mounted.close()
  expect(answer).toMatchObject({ status: 200, text: CHANGE_TYPES })
})

it('rethrows a value that is not an Error to the caller of the app', async () => {
  const recorder = createRecorder()
  const app = new Hono()
  app.post('/hook', webhook({ signatureKey, observer: recorder.observer }), () => Promise.reject('odd'))
  await expect(inMemory(app)).rejects.toBe('odd')
  expect(recorder.lines).toEqual(['accepted', 'failed handler_failed'])
})

describe("a response through Node's own response object", () => {
  type Respond = (outgoing: HttpBindings['outgoing']) => unknown

  it.each<[string, Respond, number, string]>([
    ['fine', (outgoing) => outgoing.writeHead(201).end('mine'), 201, 'handled'],
    ['broken', (outgoing) => outgoing.writeHead(503).end('mine'), 503, 'failed handler_failed'],
    [
      'broken, after the handler has returned',
      (outgoing) => setImmediate(() => outgoing.writeHead(503).end('mine')),
      503,
      'failed handler_failed',
    ],
  ])('%s', async (_, respond, status, line) => {
    const recorder = createRecorder()
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.post('/hook', webhook({ signatureKey, observer: recorder.observer }), (c) => {
      respond(c.env.outgoing)
      return RESPONSE_ALREADY_SENT
    })
    expect(await overSocket(app as unknown as Hono)).toMatchObject({ status, text: 'mine' })
    await recorder.waitFor(line)
    expect(recorder.lines).toEqual(['accepted', line])
  })

  it('that never ends is reported as a failure when the connection closes', async () => {
    const { observer, waitFor } = createRecorder()
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.post('/hook', webhook({ signatureKey, observer }), (c) => {
      c.env.outgoing.destroy()
      return RESPONSE_ALREADY_SENT
    })
    await expect(overSocket(app as unknown as Hono)).rejects.toThrow()
    await waitFor('failed handler_failed')
  })

  it('is reported as a failure without a Node response', async () => {
    const recorder = createRecorder()
    const app = new Hono()
    app.post('/hook', webhook({ signatureKey, observer: recorder.observer }), () => RESPONSE_ALREADY_SENT)
    await inMemory(app)
    expect(recorder.lines).toEqual(['accepted', 'failed handler_failed'])
  })
})
