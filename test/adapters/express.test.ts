import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import express from 'express'
import express4 from 'express4'
import { createReceiver, type Delivery, type Inbox, type ReceiverOptions } from 'geohook'
import { webhook } from 'geohook/express'
import { createPayload, createSigner } from 'geohook/testing'
import supertest from 'supertest'
import { describe, expect, it } from 'vitest'
import { JSON_TYPE, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { answerOf, begin } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { createRecorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const signer = createSigner({ signatureKey })
const request = await signer.sign(createPayload(['FeaturesCreated', 'FeaturesUpdated']))

const post = (app: Parameters<typeof supertest>[0], path = '/hook') =>
  supertest(app).post(path).set(request.headers).send(request.body)

describe.each<[string, typeof express]>([
  ['Express 5', express],
  ['Express 4', express4],
])('webhook() in %s', (_, framework) => {
  it('as middleware, verifies the request, sets req.delivery and calls next', async () => {
    const app = framework().post('/hook', webhook({ signatureKey }), (req, res) => {
      res.json(req.delivery?.changeTypes)
    })
    await post(app).expect(200, ['FeaturesCreated', 'FeaturesUpdated'])
    await supertest(app).post('/hook').send({}).expect(401)
  })

  it('in a router, passes the complete URL and the route parameters to the key function', async () => {
    const keyRequests: unknown[] = []
    const options: ReceiverOptions = {
      signatureKey: ({ url, params }) => {
        keyRequests.push(url, { ...params })
        return signatureKey
      },
    }
    const router = framework.Router().post('/:tenant/hook', webhook(options), (_req, res) => {
      res.sendStatus(204)
    })
    await post(framework().use('/api', router), '/api/lyon/hook?x=1').expect(204)
    expect(keyRequests).toEqual(['/api/lyon/hook?x=1', { tenant: 'lyon' }])
  })

  it('reports the outcome of the next handler to the observer', async () => {
    const handlers: Record<string, (res: express.Response) => void> = {
      fine: (res) => void res.sendStatus(202),
      broken: (res) => void res.sendStatus(503),
      throwing: () => {
        throw new Error('oops')
      },
    }
    const lines: Record<string, string[]> = {}
    for (const [name, handle] of Object.entries(handlers)) {
      const { observer, waitFor, calls } = createRecorder()
      const app = framework().post('/hook', webhook({ signatureKey, observer }), (_req, res) => handle(res))
      app.use(((_error, _req, res, _next) => res.sendStatus(500)) as express.ErrorRequestHandler)
      await post(app)
      await waitFor(name === 'fine' ? 'handled' : 'failed handler_failed')
      lines[name] = calls.map((call) => call.name)
    }
    expect(lines).toEqual({
      fine: ['accepted', 'handled'],
      broken: ['accepted', 'failed'],
      throwing: ['accepted', 'failed'],
    })
  })

  it('responds itself, without calling next, if the receiver has handlers', async () => {
    const receiver = createReceiver({ signatureKey }).on('FeaturesCreated', () => {})
    const app = framework().post('/hook', webhook(receiver), () => {
      throw new Error('not to be called')
    })
    await post(app).expect(200, { status: 'handled' })
  })

  it('responds with 202 itself if the receiver has an inbox', async () => {
    const stored: Delivery[] = []
    const inbox: Inbox = { put: async (delivery) => void stored.push(delivery) }
    const app = framework().post('/hook', webhook({ signatureKey, inbox }))
    await post(app).expect(202, { status: 'stored' })
    expect(stored.length).toBe(1)
  })

  it('works with app.use, and does not affect the parsers of other routes', async () => {
    const receiver = createReceiver({ signatureKey }).on('*', () => {})
    const app = framework().use('/hook', webhook(receiver)).use(framework.json())
    app.post('/other', (req, res) => {
      res.json(req.body)
    })
    await post(app).expect(200)
    await supertest(app).post('/other').send({ a: 1 }).expect(200, { a: 1 })
    await supertest(app).get('/hook').expect(405)
  })

  it('accepts a request that was paused', async () => {
    const pausing: express.RequestHandler = (req, _res, next) => {
      req.pause()
      void setImmediate().then(() => next())
    }
    await post(
      framework()
        .use(pausing)
        .post('/hook', webhook(createReceiver({ signatureKey }).on('*', () => {}))),
    ).expect(200)
  })

  it.each([
    ['all of it', ['', '{"a":1}']],
    ['the rest of it', ['{"a"', ':1}']],
  ])(
    'accepts a request that was paused before this part of the body arrived: %s',
    async (_, [first = '', last = '']) => {
      const { gate, release } = createGate()
      const pausing: express.RequestHandler = (req, _res, next) => {
        req.pause()
        next()
        release()
      }
      const receiver = createReceiver({ signatureKey, bodyTimeout: 5_000 }).on('*', () => {})
      const { url, close } = await listen(framework().use(pausing).post('/hook', webhook(receiver)))
      const body = first + last
      const headers = {
        'content-type': JSON_TYPE,
        'x-service': signatureOf(body, signatureKey),
        'content-length': body.length,
      }
      const req = begin(url, headers, first)
      req.flushHeaders()
      await gate
      req.end(last)
      expect((await answerOf(req)).status).toBe(200)
      await close()
    },
  )

  it('ends a response that other middleware has begun', async () => {
    const begin: express.RequestHandler = (_req, res, next) => {
      res.write('begun ')
      next()
    }
    const app = framework()
      .use(begin)
      .post('/hook', webhook(createReceiver({ signatureKey }).on('*', () => {})))
    expect((await post(app).expect(200)).text).toBe('begun ')
  })

  it('accepts the bytes from express.raw', async () => {
    const app = framework()
      .use(framework.raw({ type: '*/*' }))
      .post('/hook', webhook({ signatureKey }), (req, res) => {
        res.send(Buffer.from(req.delivery?.rawBody ?? []))
      })
    const answer = await post(app).expect(200)
    expect(Buffer.from(answer.body as Uint8Array)).toEqual(Buffer.from(request.bytes))
  })

  it('accepts the bytes that a parser has kept in req.rawBody', async () => {
    const keep = framework.json({
      verify: (req, _res, bytes) => {
        Object.assign(req, { rawBody: bytes })
      },
    })
    const app = framework()
      .use(keep)
      .post('/hook', webhook({ signatureKey, limit: request.bytes.length }), (req, res) => {
        res.json(req.delivery?.changeTypes)
      })
    await post(app).expect(200, ['FeaturesCreated', 'FeaturesUpdated'])
    const tight = framework()
      .use(keep)
      .post('/hook', webhook({ signatureKey, limit: request.bytes.length - 1 }))
    await post(tight).expect(413)
  })
})

it('reports a failure if the client disconnects while the next handler runs', async () => {
  const { observer, waitFor } = createRecorder()
  const app = express().post('/hook', webhook({ signatureKey, observer }), () => {})
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const controller = new AbortController()
  const { port } = server.address() as { port: number }
  const sent = fetch(`http://127.0.0.1:${port}/hook`, { ...request, signal: controller.signal })
  await waitFor('accepted')
  controller.abort()
  await expect(sent).rejects.toThrow()
  await waitFor('failed handler_failed')
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

it('leaves no unhandled rejection if the next function throws after the client disconnected', async () => {
  const rejections: unknown[] = []
  const listener = (reason: unknown) => rejections.push(reason)
  process.on('unhandledRejection', listener)
  const { observer, waitFor } = createRecorder()
  const middleware = webhook({ signatureKey, observer })
  const mounted = await listen((req, res) => {
    void middleware(req, res, () => {
      res.destroy()
      throw new Error('next')
    })
  })
  await expect(fetch(mounted.url, request)).rejects.toThrow()
  await waitFor('failed handler_failed')
  await mounted.close()
  await setImmediate()
  process.off('unhandledRejection', listener)
  expect(rejections).toEqual([])
})

it('leaves the response to the next handler, even after the client has disconnected', async () => {
  const { observer, waitFor } = createRecorder()
  let respond = (): void => {}
  const app = express().post('/hook', webhook({ signatureKey, observer }), (_req, res) => {
    respond = () => void res.status(200).json({})
  })
  const mounted = await listen(app)
  const controller = new AbortController()
  const sent = fetch(mounted.url, { ...request, signal: controller.signal })
  await waitFor('accepted')
  controller.abort()
  await expect(sent).rejects.toThrow()
  await waitFor('failed handler_failed')
  expect(respond).not.toThrow()
  await mounted.close()
})
