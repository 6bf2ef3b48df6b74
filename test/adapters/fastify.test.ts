import { PassThrough } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { createReceiver, type Inbox, type ReceiverOptions } from 'geohook'
import { webhook } from 'geohook/fastify'
import { createPayload, createSigner } from 'geohook/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { JSON_TYPE, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { answerOf, begin, send } from '../helpers/http.ts'
import type { Mounted } from '../helpers/mounts/mounted.ts'
import { listenFastify } from '../helpers/mounts/node.ts'
import { createRecorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const request = await createSigner({ signatureKey }).sign(
  createPayload(['FeaturesCreated', 'FeaturesUpdated']),
)
const payload = Buffer.from(request.body)

const open: Mounted[] = []
afterEach(async () => {
  for (const mounted of open.splice(0)) await mounted.close()
})

async function mount(app: FastifyInstance): Promise<string> {
  const mounted = await listenFastify(app)
  open.push(mounted)
  return mounted.url
}

const post = (app: FastifyInstance, url = '/hook', headers: Record<string, string | undefined> = {}) =>
  app.inject({
    method: 'POST',
    url,
    headers: { ...request.headers, ...headers } as Record<string, string>,
    payload,
  })

const handled = (options: Partial<ReceiverOptions> = {}) =>
  webhook(createReceiver({ signatureKey, ...options }).on('*', () => {}))

describe('a receiver that responds itself', () => {
  it('responds to inject() as it does over a socket', async () => {
    const app = fastify()
    app.register(handled(), { prefix: '/hook' })
    const good = await post(app)
    expect([good.statusCode, good.headers['content-type'], good.body]).toEqual([
      200,
      'application/json',
      '{"status":"handled"}',
    ])
    const bad = await post(app, '/hook', { 'x-service': '0'.repeat(64) })
    expect([bad.statusCode, bad.headers['content-type'], bad.json().code]).toEqual([
      401,
      'application/problem+json',
      'unauthorized',
    ])
    expect((await app.inject('/hook')).statusCode).toBe(405)
    expect((await app.inject({ method: 'POST', url: '/hook' })).statusCode).toBe(401)
  })

  it.each(['/hook', '/hook/', '/hook?x=1', '/hook/?x=1'])('matches %s', async (url) => {
    const app = fastify()
    app.register(handled(), { prefix: '/hook' })
    expect((await post(app, url)).statusCode).toBe(200)
  })

  it('works without a prefix', async () => {
    const app = fastify()
    app.register(handled())
    expect((await post(app, '/')).statusCode).toBe(200)
    expect((await post(app, '/other')).statusCode).toBe(404)
  })

  it('rejects every other method of the app', async () => {
    const app = fastify()
    app.addHttpMethod('PROPFIND')
    app.addHttpMethod('LOCK', { hasBody: true })
    app.register(handled(), { prefix: '/hook' })
    for (const method of app.supportedMethods.filter((name) => name !== 'POST')) {
      const answer = await app.inject({ method: method as 'GET', url: '/hook' })
      expect([method, answer.statusCode, answer.headers.allow]).toEqual([method, 405, 'POST'])
    }
  })

  it('passes the complete URL and the parameters of the prefix to the key function', async () => {
    const keyRequests: unknown[] = []
    const receiver = handled({
      signatureKey: ({ url, params }) => {
        keyRequests.push(url, { ...params })
        return signatureKey
      },
    })
    const app = fastify({ rewriteUrl: ({ url = '' }) => url.replace('/old/', '/hooks/') })
    app.register(async (api) => void api.register(receiver, { prefix: '/:tenant/in' }), { prefix: '/hooks' })
    expect((await post(app, '/old/lyon/in?x=1')).statusCode).toBe(200)
    expect(keyRequests).toEqual(['/old/lyon/in?x=1', { tenant: 'lyon' }])
  })

  it('supports several webhooks in one app, each with its key', async () => {
    const app = fastify()
    app.register(handled(), { prefix: '/a' })
    app.register(handled({ signatureKey: 'another' }), { prefix: '/b' })
    expect((await post(app, '/a')).statusCode).toBe(200)
    expect((await post(app, '/b')).statusCode).toBe(401)
  })

  it.each([';', 'application/json; =', 'a b/c', '/'])(
    'returns 401 to a forged request with the content-type %j',
    async (type) => {
      const app = fastify()
      app.register(handled(), { prefix: '/hook' })
      const url = await mount(app)
      const headers = { 'content-type': type, 'x-service': '0'.repeat(64) }
      expect((await send(url, { headers, body: payload })).status).toBe(401)
      const signed = { 'content-type': type, 'x-service': signatureOf(payload) }
      expect((await send(url, { headers: signed, body: payload })).status).not.toBe(401)
    },
  )

  it('is independent of the body parsers and preParsing hooks of the app', async () => {
    const app = fastify({ bodyLimit: 1 })
    const parse = async (): Promise<never> => {
      throw new Error('not to be parsed')
    }
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'string' }, parse)
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, parse)
    app.addHook('preParsing', async () => {
      throw new Error('not to be reached')
    })
    app.register(handled(), { prefix: '/hook' })
    expect((await post(app)).statusCode).toBe(200)
  })

  it('responds with 202 if it has an inbox', async () => {
    const inbox: Inbox = { put: async () => {} }
    const app = fastify()
    app.register(webhook({ signatureKey, inbox }), { prefix: '/hook' })
    expect((await post(app)).statusCode).toBe(202)
  })

  it('verifies the request and responds with 200 if it has no handlers', async () => {
    const app = fastify()
    app.register(webhook({ signatureKey }), { prefix: '/hook' })
    expect((await post(app)).statusCode).toBe(200)
    expect((await post(app, '/hook', { 'x-service': '0'.repeat(64) })).statusCode).toBe(401)
  })
})

it('does not affect the parsing of other routes', async () => {
  const answers: unknown[] = []
  for (const isMounted of [false, true]) {
    const app = fastify({ bodyLimit: 50 })
    app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_request, text, done) =>
      done(null, { text }),
    )
    app.setErrorHandler((error, _request, reply) => reply.code(418).send({ name: (error as Error).name }))
    if (isMounted) app.register(handled(), { prefix: '/hook' })
    app.post('/other', (req) => ({ body: req.body, hasDelivery: 'delivery' in req }))
    const bodies = [
      [JSON_TYPE, '{"a":1}'],
      [JSON_TYPE, '{"a":'],
      [JSON_TYPE, JSON.stringify('x'.repeat(60))],
      ['text/csv', 'a,b'],
      ['text/plain', 'a'],
      ['image/png', 'a'],
      ['oops', 'a'],
    ] as const
    const results = []
    for (const [type, body] of bodies) {
      const answer = await app.inject({
        method: 'POST',
        url: '/other',
        headers: { 'content-type': type },
        payload: body,
      })
      results.push([answer.statusCode, answer.body])
    }
    answers.push(results)
  }
  expect(answers[1]).toEqual(answers[0])
  expect(answers[0]).toHaveLength(7)
})

it('runs the hooks of the app for its responses', async () => {
  const statuses: unknown[] = []
  const app = fastify()
  app.addHook('onSend', async (_request, reply, body) => {
    await setTimeout(1)
    reply.header('access-control-allow-origin', '*')
    return body
  })
  app.addHook('onResponse', async (_request, reply) => void statuses.push(reply.statusCode))
  app.register(handled(), { prefix: '/hook' })
  const url = await mount(app)
  const good = await send(url, { headers: { ...request.headers }, body: payload })
  expect([good.headers['access-control-allow-origin'], good.text]).toEqual(['*', '{"status":"handled"}'])
  const bad = await send(url, { body: payload })
  expect([bad.status, bad.headers['access-control-allow-origin']]).toEqual([401, '*'])
  expect(statuses).toEqual([200, 401])
})

it('sends its own text, whatever serializer the app has', async () => {
  const app = fastify()
  app.setReplySerializer((body) => JSON.stringify({ body }))
  app.register(handled(), { prefix: '/hook' })
  const good = await post(app)
  expect([good.headers['content-type'], good.body]).toEqual(['application/json', '{"status":"handled"}'])
  const bad = await post(app, '/hook', { 'x-service': '0'.repeat(64) })
  expect([bad.headers['content-type'], bad.json().code]).toEqual(['application/problem+json', 'unauthorized'])
})

it('leaves the response to the error handler of the app if an onSend hook fails', async () => {
  const app = fastify()
  app.addHook('onSend', async (_request, _reply, body) => {
    if (String(body) === '{"status":"handled"}') throw new Error('no')
    return body
  })
  app.setReplySerializer((body) => JSON.stringify({ body }))
  app.setErrorHandler((error: Error, _request, reply) => reply.code(502).send({ failed: error.message }))
  app.register(handled(), { prefix: '/hook' })
  const answer = await post(app)
  expect([answer.statusCode, answer.headers['content-type'], answer.json()]).toEqual([
    502,
    'application/json; charset=utf-8',
    { body: { failed: 'no' } },
  ])
})

it('does nothing if a hook of the app responds first', async () => {
  const { observer, calls } = createRecorder()
  const app = fastify()
  app.addHook('onRequest', async (_request, reply) => reply.code(403).send('no'))
  app.register(handled({ observer }), { prefix: '/hook' })
  expect((await post(app)).statusCode).toBe(403)
  expect(calls).toEqual([])
})

it('returns 500 immediately if a hook has read the stream', async () => {
  const { observer, calls } = createRecorder()
  const app = fastify()
  app.addHook('onRequest', (req, _reply, done) => void req.raw.on('end', () => done()).resume())
  app.register(handled({ observer }), { prefix: '/hook' })
  const url = await mount(app)
  const answer = await send(url, { headers: { ...request.headers }, body: payload })
  expect([answer.status, JSON.parse(answer.text).code]).toEqual([500, 'body_already_parsed'])
  expect(calls[0]?.error?.hint).toContain('onRequest')
})

it('ends a response that a hook has begun', async () => {
  const app = fastify()
  app.addHook('onRequest', async (_request, reply) => void reply.raw.write('begun'))
  app.register(handled(), { prefix: '/hook' })
  const url = await mount(app)
  expect((await send(url, { headers: { ...request.headers }, body: payload })).text).toBe('begun')
})

it('closes the connection of a client that is too slow', async () => {
  const app = fastify()
  app.register(handled({ bodyTimeout: 50 }), { prefix: '/hook' })
  const url = await mount(app)
  const answer = await answerOf(begin(url, { ...request.headers, 'content-length': payload.length }, '{'))
  expect([answer.status, answer.headers.connection]).toEqual([408, 'close'])
})

it('receiver.close() waits until responses are sent, even if an onSend hook delays them', async () => {
  const order: string[] = []
  const { gate, release } = createGate()
  const { observer, waitFor } = createRecorder()
  const receiver = createReceiver({ signatureKey, observer }).on('*', () => {})
  const app = fastify()
  app.addHook('onSend', async () => gate)
  app.addHook('onResponse', async () => void order.push('sent'))
  app.register(webhook(receiver), { prefix: '/hook' })
  const url = await mount(app)
  const sent = send(url, { headers: { ...request.headers }, body: payload })
  await waitFor('handled')
  const closed = receiver.close().then(() => order.push('closed'))
  const stopped = app.close().then(() => order.push('stopped'))
  release()
  expect((await sent).status).toBe(200)
  await Promise.all([closed, stopped])
  expect(order[0]).toBe('sent')
  expect(order.sort()).toEqual(['closed', 'sent', 'stopped'])
})

describe('the option handler', () => {
  it('gets the delivery, and responds like any handler', async () => {
    const app = fastify()
    app.register(webhook({ signatureKey }), {
      prefix: '/hooks/:tenant',
      handler: async (req) => ({
        types: req.delivery?.changeTypes,
        params: req.params,
        body: req.body ?? null,
      }),
    })
    const answer = await post(app, '/hooks/lyon')
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      { types: ['FeaturesCreated', 'FeaturesUpdated'], params: { tenant: 'lyon' }, body: null },
    ])
    const url = await mount(app)
    const overSocket = await send(url.replace('/hook', '/hooks/x'), {
      headers: { ...request.headers },
      body: payload,
    })
    expect(JSON.parse(overSocket.text).params).toEqual({ tenant: 'x' })
    expect((await post(app, '/hooks/lyon', { 'x-service': '0'.repeat(64) })).statusCode).toBe(401)
    expect((await app.inject('/hooks/lyon')).statusCode).toBe(405)
  })

  it.each(['application/json', 'application/json; charset=utf-8', 'application/x-www-form-urlencoded'])(
    'gets the delivery for %s, whatever parsers the app has',
    async (type) => {
      const app = fastify({ bodyLimit: 1 })
      app.addContentTypeParser('*', { parseAs: 'string' }, (_request, text, done) => done(null, text))
      app.addHook('preParsing', async (_request, _reply, stream) => stream.pipe(new PassThrough()))
      app.addHook('preHandler', async (_request, reply) => void reply.header('x-hook', 'ran'))
      app.register(webhook({ signatureKey }), {
        prefix: '/hook',
        handler: (_request, reply) => reply.code(204).send(),
      })
      const url = await mount(app)
      const body = type.endsWith('encoded') ? 'payload=%7B%7D' : '{}'
      const answer = await send(url, {
        headers: { 'content-type': type, 'x-service': signatureOf(body) },
        body,
      })
      expect([answer.status, answer.headers['x-hook']]).toEqual([204, 'ran'])
    },
  )

  it('is not called if the receiver has handlers', async () => {
    const app = fastify()
    app.register(handled(), {
      prefix: '/hook',
      handler: () => {
        throw new Error('not to be called')
      },
    })
    expect((await post(app)).body).toBe('{"status":"handled"}')
  })

  it('has its outcome reported to the observer', async () => {
    const handlers: Record<string, (reply: FastifyReply) => unknown> = {
      fine: (reply) => reply.code(202).send({}),
      returned: async () => 'done',
      broken: (reply) => reply.code(503).send(),
      throwing: () => {
        throw new Error('oops')
      },
      rejecting: async () => {
        throw new Error('oops')
      },
    }
    const lines: Record<string, unknown> = {}
    for (const [name, handle] of Object.entries(handlers)) {
      const { observer, waitFor, calls } = createRecorder()
      const app = fastify()
      app.setErrorHandler((_error, _request, reply) => reply.code(500).send('mine'))
      app.register(webhook({ signatureKey, observer }), {
        prefix: '/hook',
        handler: (_request, reply) => handle(reply),
      })
      const { statusCode, body } = await post(app)
      await waitFor(['fine', 'returned'].includes(name) ? 'handled' : 'failed handler_failed')
      lines[name] = [statusCode, body, ...calls.map((call) => call.name)]
    }
    expect(lines).toEqual({
      fine: [202, '{}', 'accepted', 'handled'],
      returned: [200, 'done', 'accepted', 'handled'],
      broken: [503, '', 'accepted', 'failed'],
      throwing: [500, 'mine', 'accepted', 'failed'],
      rejecting: [500, 'mine', 'accepted', 'failed'],
    })
  })

  it('can still respond after the client disconnected', async () => {
    const { observer, waitFor } = createRecorder()
    let respond = (): void => {}
    const app = fastify()
    app.register(webhook({ signatureKey, observer }), {
      prefix: '/hook',
      handler: (_request, reply) =>
        new Promise<void>((resolve) => {
          respond = () => {
            reply.send('late')
            resolve()
          }
        }),
    })
    const url = await mount(app)
    const controller = new AbortController()
    const sent = fetch(url, { ...request, signal: controller.signal })
    await waitFor('accepted')
    controller.abort()
    await expect(sent).rejects.toThrow()
    await waitFor('failed handler_failed')
    expect(respond).not.toThrow()
  })

  it('works if the app also decorates requests with delivery', async () => {
    const app = fastify()
    app.decorateRequest('delivery')
    app.register(webhook({ signatureKey }), { prefix: '/hook', handler: (req) => req.delivery?.changeTypes })
    expect((await post(app)).json()).toEqual(['FeaturesCreated', 'FeaturesUpdated'])
  })
})

it.each([
  [{ hander: () => 'ok' }, 'unknown option hander: did you mean handler?'],
  [{ handler: 'ok' }, 'handler must be a function'],
])('refuses invalid options of the plugin: %j', async (options, message) => {
  const app = fastify()
  app.register(webhook({ signatureKey: 'k' }), { prefix: '/hook', ...options } as object)
  await expect(app.ready()).rejects.toMatchObject({ code: 'config_invalid', message })
})
