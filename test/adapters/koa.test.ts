import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { createReceiver, type Inbox, type ReceiverOptions } from 'geohook'
import { webhook } from 'geohook/koa'
import { createPayload, createSigner } from 'geohook/testing'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import supertest from 'supertest'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createGate } from '../helpers/gate.ts'
import { answerOf, begin, send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { quiet } from '../helpers/mounts/node.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { warningsOf } from '../helpers/warnings.ts'

const signatureKey = 'parcels2026'
const request = await createSigner({ signatureKey }).sign(
  createPayload(['FeaturesCreated', 'FeaturesUpdated']),
)
const payload = Buffer.from(request.body).toString()

const create = () => quiet(new Koa())
const post = (app: Koa, path = '/hook') =>
  supertest(app.callback()).post(path).set(request.headers).send(payload)
const handled = (options: Partial<ReceiverOptions> = {}) =>
  webhook(createReceiver({ signatureKey, ...options }).on('*', () => {}))

it('responds itself, without calling next, if the receiver has handlers', async () => {
  const app = create()
    .use(handled())
    .use(() => {
      throw new Error('not to be called')
    })
  const answer = await post(app).expect(200, '{"status":"handled"}')
  expect(answer.headers['content-type']).toBe('application/json')
  const refused = await supertest(app.callback()).post('/hook').send({}).expect(401)
  expect(refused.headers['content-type']).toBe('application/problem+json')
  await supertest(app.callback()).head('/hook').expect(405)
})

it('responds with 202 itself if the receiver has an inbox', async () => {
  const inbox: Inbox = { put: async () => {} }
  await post(create().use(webhook({ signatureKey, inbox }))).expect(202, '{"status":"stored"}')
})

it('lets other middleware read and change its responses', async () => {
  const responses: unknown[] = []
  const app = create()
    .use(async (ctx, next) => {
      await next()
      responses.push([ctx.status, ctx.body])
      ctx.set('access-control-allow-origin', '*')
    })
    .use(handled())
  await post(app).expect(200).expect('access-control-allow-origin', '*')
  await supertest(app.callback()).get('/').expect(405).expect('allow', 'POST')
  expect(responses[0]).toEqual([200, '{"status":"handled"}'])
})

it('passes the original URL and the parameters of a router to the key function', async () => {
  const keyRequests: unknown[] = []
  const options: ReceiverOptions = {
    signatureKey: ({ url, params }) => {
      keyRequests.push(url, params)
      return signatureKey
    },
  }
  const app = create()
    .use((ctx, next) => {
      ctx.params = { tenant: 'lyon' }
      ctx.url = '/rewritten'
      return next()
    })
    .use(handled(options))
  await post(app, '/api/lyon/hook?x=1').expect(200)
  expect(keyRequests).toEqual(['/api/lyon/hook?x=1', { tenant: 'lyon' }])
})

it('supports several webhooks in one app, each with its key', async () => {
  const hooks = new Map([
    ['/a', handled()],
    ['/b', handled({ signatureKey: 'another' })],
  ])
  const app = create().use((ctx, next) => hooks.get(ctx.path)?.(ctx, next) ?? next())
  await post(app, '/a').expect(200)
  await post(app, '/b').expect(401)
  await post(app, '/c').expect(404)
})

it('does not affect the parsing of other routes', async () => {
  const hook = handled()
  const createApp = (isMounted: boolean) => {
    const app = create()
    if (isMounted) app.use((ctx, next) => (ctx.path === '/hook' ? hook(ctx, next) : next()))
    return app.use(bodyParser({ jsonLimit: '20b' })).use((ctx) => {
      ctx.body = { body: ctx.request.body, raw: ctx.request.rawBody }
    })
  }
  const answers: unknown[] = []
  for (const isMounted of [false, true]) {
    for (const body of ['{"a":1}', '{"a":', JSON.stringify({ a: 'x'.repeat(30) })]) {
      const app = createApp(isMounted)
      const answer = await supertest(app.callback()).post('/other').type('application/json').send(body)
      answers.push([answer.status, answer.text])
    }
  }
  expect(answers.slice(3)).toEqual(answers.slice(0, 3))
  expect(answers.map((answer) => (answer as unknown[])[0]).slice(0, 3)).toEqual([200, 400, 413])
  await post(createApp(true)).expect(200)
})

describe('after koa-bodyparser', () => {
  it('returns 500 immediately with a hint, although rawBody contains text', async () => {
    const { observer, calls } = createRecorder()
    const app = create().use(bodyParser()).use(handled({ observer }))
    const warnings = await warningsOf(() => post(app).expect(500))
    expect(calls.map(({ code }) => code)).toEqual(['body_already_parsed'])
    expect(warnings).toEqual([
      expect.stringMatching(
        /^body_already_parsed: \/hook: a body parser, such as koa-bodyparser, read the body before geohook. Put app.use\(webhook/,
      ),
    ])
    expect(warnings[0]).not.toContain('express')
  })

  it('works if the parser is disabled for its path', async () => {
    const app = create()
      .use((ctx, next) => {
        ctx.disableBodyParser = true
        return next()
      })
      .use(bodyParser())
      .use(handled())
    await post(app).expect(200)
  })

  it.each(['rawBody', 'body'])('accepts bytes in ctx.request.%s', async (name) => {
    const app = create()
      .use(async (ctx, next) => {
        const parts: Buffer[] = []
        for await (const part of ctx.req) parts.push(part)
        Object.assign(ctx.request, { body: JSON.parse(payload), [name]: Buffer.concat(parts) })
        await next()
      })
      .use(handled())
    await post(app).expect(200)
  })

  it('recognizes a parser that leaves text in ctx.request.body', async () => {
    const { observer, calls } = createRecorder()
    const app = create()
      .use(async (ctx, next) => {
        for await (const _ of ctx.req);
        Object.assign(ctx.request, { body: payload })
        await next()
      })
      .use(handled({ observer }))
    await post(app).expect(500)
    expect(calls[0]?.error?.message).toContain('a text parser')
  })
})

describe('as middleware', () => {
  it('verifies, sets ctx.state.delivery and calls next', async () => {
    const app = create()
      .use(webhook({ signatureKey }))
      .use((ctx) => {
        ctx.body = ctx.state.delivery.changeTypes
      })
    await post(app).expect(200, ['FeaturesCreated', 'FeaturesUpdated'])
    await supertest(app.callback()).post('/hook').send({}).expect(401)
  })

  it('reports the outcome of the next middleware to the observer, and rethrows its errors', async () => {
    const middlewares: Record<string, Koa.Middleware> = {
      fine: (ctx) => {
        ctx.status = 202
      },
      silent: () => {},
      broken: (ctx) => {
        ctx.status = 503
      },
      throwing: (ctx) => ctx.throw(418, 'mine'),
      failing: async () => {
        throw new Error('oops')
      },
    }
    const lines: Record<string, unknown> = {}
    for (const [name, middleware] of Object.entries(middlewares)) {
      const { observer, waitFor, calls } = createRecorder()
      const errors: unknown[] = []
      const app = create()
        .use((_, next) =>
          next().catch((error: Error) => {
            errors.push(error.message)
            throw error
          }),
        )
        .use(webhook({ signatureKey, observer }))
        .use(middleware)
      const { status } = await post(app)
      await waitFor(['broken', 'failing'].includes(name) ? 'failed handler_failed' : 'handled')
      lines[name] = [status, ...calls.map((call) => call.name), ...errors]
    }
    expect(lines).toEqual({
      fine: [202, 'accepted', 'handled'],
      silent: [404, 'accepted', 'handled'],
      broken: [503, 'accepted', 'failed'],
      throwing: [418, 'accepted', 'handled', 'mine'],
      failing: [500, 'accepted', 'failed', 'oops'],
    })
  })
})

describe('a response whose body is a stream', () => {
  /** Returns the outcome. `write` gets the body once the response has begun. */
  async function outcomeOf(write: (body: PassThrough, client: Socket) => void) {
    const { observer, calls } = createRecorder()
    const body = new PassThrough()
    const app = create().use(webhook({ signatureKey, observer }))
    app.use((ctx) => {
      ctx.body = body
    })
    const mounted = await listen(app.callback())
    onTestFinished(() => mounted.close())
    body.write('part')
    const sent = httpRequest(mounted.url, { method: 'POST', headers: { ...request.headers } })
    sent.on('error', () => {}).end(request.body)
    const [response] = await once(sent, 'response')
    const closed = new Promise((resolve) => response.on('error', () => {}).on('close', resolve))
    write(body, response.resume().socket)
    await closed
    await expect.poll(() => calls.length, { timeout: 60_000 }).toBe(2)
    return [calls[1]?.name, calls[1]?.outcome?.status, calls[1]?.error?.cause]
  }

  it('is a failure if the stream breaks', async () => {
    const error = new Error('oops')
    expect(await outcomeOf((body) => body.destroy(error))).toEqual(['failed', 500, error])
  })

  it.each<[string, (client: Socket) => void]>([
    ['closes', (client) => client.destroy()],
    ['ends', (client) => client.end()],
    ['resets', (client) => client.resetAndDestroy()],
  ])('is handled if the client %s the connection', async (_, hangUp) => {
    expect(await outcomeOf((_body, client) => hangUp(client))).toEqual(['handled', 200, undefined])
  })
})

it('responds itself if ctx.respond is false', async () => {
  const app = create()
    .use((ctx, next) => {
      ctx.respond = false
      return next()
    })
    .use(handled())
  await post(app).expect(200, '{"status":"handled"}')
})

it('ends a response that other middleware has begun', async () => {
  const app = create()
    .use((ctx, next) => {
      ctx.res.write('begun')
      return next()
    })
    .use(handled())
  await post(app).expect(404, 'begun')
})

it('closes the connection of a client that is too slow', async () => {
  const mounted = await listen(
    create()
      .use(handled({ bodyTimeout: 50 }))
      .callback(),
  )
  const answer = await answerOf(
    begin(mounted.url, { ...request.headers, 'content-length': payload.length }, '{'),
  )
  expect([answer.status, answer.headers.connection]).toEqual([408, 'close'])
  await mounted.close()
})

it('receiver.close() waits until responses are sent, even if other middleware delays them', async () => {
  const order: string[] = []
  const { gate, release } = createGate()
  const { observer, waitFor } = createRecorder()
  const receiver = createReceiver({ signatureKey, observer }).on('*', () => {})
  const app = create()
    .use(async (ctx, next) => {
      ctx.res.once('finish', () => order.push('sent'))
      await next()
      await gate
    })
    .use(webhook(receiver))
  const mounted = await listen(app.callback())
  const sent = send(mounted.url, { headers: { ...request.headers }, body: payload })
  await waitFor('handled')
  const closed = receiver.close().then(() => order.push('closed'))
  release()
  expect((await sent).status).toBe(200)
  await closed
  expect(order).toEqual(['sent', 'closed'])
  await mounted.close()
})
