import { createReceiver, type Delivery, type Inbox } from 'geohook'
import { type VerifiedEvent, webhook } from 'geohook/h3'
import { createMemoryDuplicates } from 'geohook/inbox'
import { createPayload, createSigner } from 'geohook/testing'
import {
  type EventHandler,
  fromNodeHandler,
  H3,
  HTTPError,
  HTTPResponse,
  type Middleware,
  type NodeHandler,
  readBody,
} from 'h3'
import { describe, expect, it } from 'vitest'
import { type Answer, send } from '../helpers/http.ts'
import { listenH3 } from '../helpers/mounts/web.ts'
import { createRecorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const signed = await createSigner({ signatureKey }).sign(
  createPayload(['FeaturesCreated', 'FeaturesUpdated']),
)
const changeTypes = ['FeaturesCreated', 'FeaturesUpdated']

type Post = (app: H3, path?: string, sent?: typeof signed) => Promise<Pick<Answer, 'status' | 'text'>>

const inMemory: Post = async (app, path = '/hook', { headers, body } = signed) => {
  const response = await app.request(path, { method: 'POST', headers, body })
  return { status: response.status, text: await response.text() }
}

const overSocket: Post = async (app, path = '/hook', { headers, body } = signed) => {
  const mounted = await listenH3(app)
  try {
    return await send(new URL(path, mounted.url).href, { headers: { ...headers }, body })
  } finally {
    await mounted.close()
  }
}

const create = (): H3 => new H3({ silent: true })

describe.each([
  ['app.request()', inMemory],
  ['serve()', overSocket],
])('webhook() in h3, with %s', (_, post) => {
  it('as middleware of a route, verifies the request, sets event.context.delivery and runs the handler', async () => {
    const app = create().post('/hook', (event) => event.context.delivery?.changeTypes, {
      middleware: [webhook({ signatureKey })],
    })
    const answer = await post(app)
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, changeTypes])
    expect((await post(app, '/hook', { ...signed, body: '{}' })).status).toBe(401)
  })

  it('as middleware of an app, verifies requests to its paths', async () => {
    const app = create()
      .use('/hooks/**', webhook({ signatureKey }))
      .post('/hooks/a', (event) => event.context.delivery?.changeTypes)
      .post('/other', (event) => readBody(event))
    expect((await post(app, '/hooks/a')).status).toBe(200)
    expect((await post(app, '/hooks/a', { ...signed, headers: {} })).status).toBe(401)
    const other = {
      ...signed,
      headers: { 'content-type': 'application/json' },
      body: '{}',
    }
    expect(await post(app, '/other', other)).toMatchObject({ status: 200, text: '{}' })
  })

  it('runs its handler option with the verified delivery', async () => {
    const handler = (event: VerifiedEvent) => event.context.delivery.changeTypes
    const app = create().post('/hook', webhook({ signatureKey }, { handler }))
    const answer = await post(app)
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, changeTypes])
    expect((await post(app, '/hook', { ...signed, body: '{}' })).status).toBe(401)
  })

  it('as a handler, responds itself', async () => {
    const receiver = createReceiver({ signatureKey }).on('*', () => {})
    const app = create().post('/hook', webhook(receiver))
    expect(await post(app)).toMatchObject({ status: 200, text: '{"status":"handled"}' })
  })

  it('as a handler, responds itself if the receiver has no handlers', async () => {
    const { observer, waitFor } = createRecorder()
    const app = create().post('/hook', webhook({ signatureKey, observer }))
    expect(await post(app)).toMatchObject({ status: 200, text: '{"status":"unhandled"}' })
    await waitFor('unhandled')
  })

  it('as middleware, responds itself if the receiver has handlers', async () => {
    const receiver = createReceiver({ signatureKey }).on('*', () => {})
    const app = create()
      .use(webhook(receiver))
      .post('/hook', () => {
        throw new Error('not to be called')
      })
    expect(await post(app)).toMatchObject({ status: 200, text: '{"status":"handled"}' })
  })

  it('responds with 202 itself if the receiver has an inbox', async () => {
    const stored: Delivery[] = []
    const inbox: Inbox = { put: async (delivery) => void stored.push(delivery) }
    const app = create().post('/hook', webhook({ signatureKey, inbox }))
    expect(await post(app)).toMatchObject({ status: 202, text: '{"status":"stored"}' })
    expect(stored.length).toBe(1)
  })

  it('passes the complete URL and the route parameters to the key function, in any kind of route', async () => {
    const keyRequests: unknown[] = []
    const receiver = createReceiver({
      signatureKey: ({ url, params }) => {
        const { pathname, search } = new URL(url)
        keyRequests.push(pathname + search, params)
        return signatureKey
      },
    }).on('*', () => {})
    const inner = create().post('/:layer', webhook(receiver))
    const app = create()
      .post('/hooks/:tenant', webhook(receiver))
      .use('/middleware/:tenant', webhook(receiver))
      .mount('/mounted', inner)
    for (const path of ['/hooks/lyon?x=1&x=2', '/middleware/lyon', '/mounted/roads']) {
      expect((await post(app, path)).status).toBe(200)
    }
    expect(keyRequests).toEqual([
      '/hooks/lyon?x=1&x=2',
      { tenant: 'lyon' },
      '/middleware/lyon',
      { tenant: 'lyon' },
      '/mounted/roads',
      { layer: 'roads' },
    ])
  })

  it('decodes the route parameters once, like the other frameworks', async () => {
    const keyParams: unknown[] = []
    const receiver = createReceiver({
      signatureKey: ({ params }) => {
        keyParams.push(params)
        return signatureKey
      },
    }).on('*', () => {})
    const app = create()
      .post('/hooks/:tenant/:layer', webhook(receiver))
      .use('/middleware/:tenant/:layer', webhook(receiver))
    const params = { tenant: 'lyoné', layer: 'a/b %20' }
    for (const path of ['/hooks', '/middleware'])
      expect((await post(app, `${path}/lyon%C3%A9/a%2Fb%20%2520`)).status).toBe(200)
    expect(keyParams).toEqual([params, params])
  })

  it('supports two webhooks in one app', async () => {
    const [a, b] = [createRecorder(), createRecorder()]
    const app = create()
      .post('/a', () => 'a', { middleware: [webhook({ signatureKey, observer: a.observer })] })
      .post('/b', () => 'b', { middleware: [webhook({ signatureKey: 'another', observer: b.observer })] })
    expect((await post(app, '/a')).text).toBe('a')
    expect((await post(app, '/b')).status).toBe(401)
    expect([a.lines, b.lines]).toEqual([['accepted', 'handled'], ['refused signature_mismatch']])
  })

  it.each<[string, Middleware]>([
    ['readBody(event)', async (event, next) => readBody(event).then(next)],
    ['event.req.text()', async (event, next) => event.req.text().then(next)],
    ['event.req.arrayBuffer()', async (event, next) => event.req.arrayBuffer().then(next)],
  ])('returns 500 immediately if %s has read the body', async (_name, reader) => {
    const { observer, calls } = createRecorder()
    const app = create().use(reader).post('/hook', webhook({ signatureKey, observer }))
    expect(await post(app)).toMatchObject({
      status: 500,
      text: '{"title":"Body already parsed","status":500,"code":"body_already_parsed"}',
    })
    expect(calls.map(({ code, error }) => [code, error?.hint])).toEqual([
      ['body_already_parsed', expect.stringContaining('readBody(event)')],
    ])
  })

  it('reports the outcome of the next handler to the observer, without changing its response', async () => {
    const fail = (error: unknown): never => {
      throw error
    }
    const handlers: Record<string, EventHandler> = {
      nothing: () => undefined,
      text: () => 'mine',
      response: () => new Response('mine', { status: 202 }),
      httpResponse: () => new HTTPResponse('mine', { status: 201 }),
      bodyWithStatus: () => ({ status: 503 }),
      prepared: (event) => {
        event.res.status = 206
        return 'mine'
      },
      brokenResponse: async () => new Response('mine', { status: 503 }),
      brokenHttpResponse: () => new HTTPResponse('mine', { status: 503 }),
      brokenPrepared: (event) => {
        event.res.status = 503
        return 'mine'
      },
      throwing: () => fail(new Error('oops')),
      rejecting: () => Promise.reject(new HTTPError({ status: 422, message: 'mine' })),
      returning: () => new HTTPError({ status: 409, message: 'mine' }),
      notAnError: () => fail('odd'),
    }
    const results: Record<string, unknown> = {}
    const run = async (name: string, app: H3, recorder = createRecorder()): Promise<void> => {
      const { status } = await post(
        create()
          .use(webhook({ signatureKey, observer: recorder.observer }))
          .mount('', app),
      )
      results[name] = [status, recorder.lines.at(-1)]
    }
    for (const [name, handler] of Object.entries(handlers)) await run(name, create().post('/hook', handler))
    await run('missing', create())
    const FAILED = 'failed handler_failed'
    expect(results).toEqual({
      nothing: [200, 'handled'],
      text: [200, 'handled'],
      response: [202, 'handled'],
      httpResponse: [201, 'handled'],
      bodyWithStatus: [200, 'handled'],
      prepared: [206, 'handled'],
      brokenResponse: [503, FAILED],
      brokenHttpResponse: [503, FAILED],
      brokenPrepared: [503, FAILED],
      throwing: [500, FAILED],
      rejecting: [422, 'handled'],
      returning: [409, 'handled'],
      notAnError: [500, FAILED],
      missing: [404, 'handled'],
    })
  })
})

describe("a response through Node's own response object", () => {
  const respond = (status: number): NodeHandler => {
    return (_req, res) => void res.writeHead(status).end('mine')
  }

  it.each<[string, NodeHandler, number, string]>([
    ['fine', respond(201), 201, 'handled'],
    ['broken', respond(503), 503, 'failed handler_failed'],
    [
      'broken, in middleware',
      (req, res, _next?: unknown) => void setImmediate(() => respond(503)(req, res)),
      503,
      'failed handler_failed',
    ],
    [
      'broken, after the handler has returned',
      (req, res) => void setImmediate(() => respond(503)(req, res)),
      503,
      'failed handler_failed',
    ],
    [
      'ended after the handler has returned',
      (_req, res) => {
        res.writeHead(202)
        setImmediate(() => res.end('mine'))
      },
      202,
      'handled',
    ],
  ])('%s', async (_, handler, status, line) => {
    const recorder = createRecorder()
    const app = create().post('/hook', fromNodeHandler(handler), {
      middleware: [webhook({ signatureKey, observer: recorder.observer })],
    })
    expect(await overSocket(app)).toMatchObject({ status, text: 'mine' })
    expect(recorder.lines).toEqual(['accepted', line])
  })

  it('with an error lets the next attempt run', async () => {
    const duplicates = createMemoryDuplicates()
    const statuses = [503, 200]
    const app = create().post(
      '/hook',
      fromNodeHandler((req, res) => respond(statuses.shift() ?? 500)(req, res)),
      { middleware: [webhook({ signatureKey, duplicates, observer: createRecorder().observer })] },
    )
    for (const status of [503, 200, 200]) expect((await overSocket(app)).status).toBe(status)
    expect(statuses).toEqual([])
  })

  it('that never ends is reported as a failure when the connection closes', async () => {
    const { observer, waitFor } = createRecorder()
    const app = create().post(
      '/hook',
      fromNodeHandler((_req, res) => void res.destroy()),
      { middleware: [webhook({ signatureKey, observer })] },
    )
    await expect(overSocket(app)).rejects.toThrow()
    await waitFor('failed handler_failed')
  })
})

it('reports a failure if a handler claims to have responded without a Node response', async () => {
  const recorder = createRecorder()
  const app = create()
    .use(webhook({ signatureKey, observer: recorder.observer }))
    .post('/hook', () => Symbol.for('h3.handled'))
  await inMemory(app)
  expect(recorder.lines).toEqual(['accepted', 'failed handler_failed'])
})
