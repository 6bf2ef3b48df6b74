import type { IncomingMessage, RequestListener } from 'node:http'
import { PassThrough } from 'node:stream'
import { Controller, Module, Post, Req } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import connect from 'connect'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { createReceiver, type Delivery } from 'geohook'
import { webhook } from 'geohook/express'
import { createMemoryDuplicates } from 'geohook/inbox'
import { webhook as koaWebhook } from 'geohook/koa'
import { webhook as nodeWebhook } from 'geohook/node'
import { createPayload, createSigner } from 'geohook/testing'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import polka from 'polka'
import supertest from 'supertest'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createGate } from '../helpers/gate.ts'
import { send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { quiet } from '../helpers/mounts/node.ts'
import { createRecorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const request = await createSigner({ signatureKey }).sign(createPayload('FeaturesCreated'))
const CHANGE_TYPES = ['FeaturesCreated']

const post = (app: Parameters<typeof supertest>[0], path = '/hook') =>
  supertest(app).post(path).set(request.headers).send(request.body)

type WithDelivery = { delivery?: Delivery }

describe('webhook() works before body parsers and the route', () => {
  it.each<[string, typeof express]>([
    ['Express 5', express],
    ['Express 4', express4],
  ])('in %s', async (_, framework) => {
    for (const parser of [
      framework.json(),
      framework.urlencoded(),
      framework.text({ type: '*/*' }),
      framework.raw({ type: '*/*' }),
    ]) {
      const app = framework().use('/hook', webhook({ signatureKey }))
      app.use(parser)
      app.post('/hook', (req, res) => void res.json(req.delivery?.changeTypes))
      await post(app).expect(200, CHANGE_TYPES)
    }
  })

  it('in Connect', async () => {
    const app = connect().use('/hook', webhook({ signatureKey }))
    app.use(express4.json() as connect.NextHandleFunction)
    app.use('/hook', (req, res) => void res.end(JSON.stringify((req as WithDelivery).delivery?.changeTypes)))
    await post(app).expect(200, JSON.stringify(CHANGE_TYPES))
  })

  it('in NestJS, with a controller', async () => {
    class Hooks {
      take(req: WithDelivery): string[] | undefined {
        return req.delivery?.changeTypes
      }
    }
    Controller('hook')(Hooks)
    Post()(
      Hooks.prototype,
      'take',
      Object.getOwnPropertyDescriptor(Hooks.prototype, 'take') as PropertyDescriptor,
    )
    Req()(Hooks.prototype, 'take', 0)
    class App {}
    Module({ controllers: [Hooks] })(App)
    for (const rawBody of [false, true]) {
      const app = await NestFactory.create(App, { logger: false, rawBody })
      app.use('/hook', webhook({ signatureKey }))
      await app.init()
      await post(app.getHttpServer()).expect(201, CHANGE_TYPES)
      await app.close()
    }
  })

  it('in Koa', async () => {
    const app = quiet(new Koa()).use(koaWebhook({ signatureKey })).use(bodyParser())
    app.use((ctx) => {
      ctx.body = (ctx.state as WithDelivery).delivery?.changeTypes
    })
    await post(app.callback()).expect(200, CHANGE_TYPES)
  })
})

/** Reads the body like Fastify's parsers: without a check whether the request has already ended. */
const read = (req: IncomingMessage): Promise<string> =>
  new Promise((resolve) => {
    let text = ''
    req.on('data', (chunk) => {
      text += chunk
    })
    req.on('end', () => resolve(text))
  })
const readLate: RequestListener = async (req, res) => {
  res.end(JSON.stringify([(req as WithDelivery).delivery?.changeTypes, await read(req)]))
}

describe('webhook() passes the body to readers that would wait for it', () => {
  it.each<[string, (hook: ReturnType<typeof webhook>) => RequestListener | Promise<RequestListener>]>([
    // @fastify/middie, which NestJS uses, runs middleware in such a hook.
    [
      'in an onRequest hook of Fastify',
      async (hook) => {
        const app = fastify()
        app.addHook('onRequest', (req, res, done) => void hook(req.raw, res.raw, () => done()))
        app.post('/hook', ({ raw, body }) => [
          (raw as WithDelivery).delivery?.changeTypes,
          JSON.stringify(body),
        ])
        await app.ready()
        onTestFinished(() => app.close())
        return app.routing as RequestListener
      },
    ],
    ['in Express', (hook) => express().post('/hook', hook, readLate) as RequestListener],
    ['in Connect', (hook) => connect().use('/hook', hook).use('/hook', readLate)],
    ['in Polka', (hook) => polka().post('/hook', hook, readLate).handler as RequestListener],
    [
      'in Koa',
      () =>
        quiet(new Koa())
          .use(koaWebhook({ signatureKey }))
          .use(async (ctx) => {
            ctx.body = [(ctx.state as WithDelivery).delivery?.changeTypes, await read(ctx.req)]
          })
          .callback(),
    ],
  ])('%s', async (_, create) => {
    const mounted = await listen(await create(webhook({ signatureKey })))
    onTestFinished(() => mounted.close())
    for (const size of [0, 300_000]) {
      const payload = { ...createPayload('FeaturesCreated'), padding: 'x'.repeat(size) }
      const signed = await createSigner({ signatureKey }).sign(payload)
      const { status, text } = await send(mounted.url, signed)
      expect([status, JSON.parse(text)]).toEqual([200, [CHANGE_TYPES, JSON.stringify(payload)]])
    }
  })

  it('does not call listeners that a reader has removed, as Fastify does beyond its limit', async () => {
    const events: string[] = []
    const app = express().post('/hook', webhook({ signatureKey }), (req, res) => {
      const onEnd = () => events.push('end')
      req.on('end', onEnd).on('data', () => {
        events.push('data')
        req.off('end', onEnd)
        setTimeout(() => res.json(events))
      })
    })
    await post(app).expect(200, ['data'])
  })

  it('whichever listener they add first, and as text after setEncoding()', async () => {
    const app = express().post('/hook', webhook({ signatureKey }), (req, res) => {
      req.setEncoding('utf8').once('data', (text) => {
        setTimeout(() => req.once('end', () => res.json(text)))
      })
    })
    await post(app).timeout(5_000).expect(200, JSON.stringify(request.body))
  })

  it('does not write to the destination of pipe(), which has already ended', async () => {
    const app = express().post('/hook', webhook({ signatureKey }), (req, res) => {
      req.pipe(new PassThrough()).pipe(res)
      req.on('end', () => {})
    })
    await post(app).expect(200, '')
  })
})

it('two webhooks on the same path both verify the request', async () => {
  const app = express().post('/hook', webhook({ signatureKey }), webhook({ signatureKey }), (req, res) => {
    res.json(req.delivery?.changeTypes)
  })
  await post(app).expect(200, CHANGE_TYPES)
  const koa = quiet(new Koa()).use(koaWebhook({ signatureKey })).use(koaWebhook({ signatureKey }))
  koa.use((ctx) => {
    ctx.body = (ctx.state as WithDelivery).delivery?.changeTypes
  })
  await post(koa.callback()).expect(200, CHANGE_TYPES)
})

describe('a response that has begun as a success', () => {
  const broken = (receiver: Parameters<typeof nodeWebhook>[0]): RequestListener => {
    const listener = nodeWebhook(receiver)
    return (req, res) => {
      res.writeHead(200).write('part')
      void listener(req, res)
    }
  }
  const failing = createReceiver({ signatureKey, observer: { failed: () => {} } }).on('*', () => {
    throw new Error('oops')
  })

  it.each<[string, RequestListener]>([
    ['node:http', broken(failing)],
    [
      'Polka',
      polka().post('/hook', webhook({ signatureKey, observer: { failed: () => {} } }), (_req, res) => {
        res.writeHead(200)
        res.write('part')
        throw new Error('oops')
      }).handler as RequestListener,
    ],
  ])('is aborted if a handler fails: %s', async (_, listener) => {
    const mounted = await listen(listener)
    await expect(send(mounted.url, request)).rejects.toThrow(/aborted|hang up/)
    await mounted.close()
  })

  it('ends normally if no handler fails', async () => {
    const mounted = await listen(broken(createReceiver({ signatureKey }).on('*', () => {})))
    expect(await send(mounted.url, request)).toMatchObject({ status: 200, text: 'part' })
    await mounted.close()
  })
})

it('in Koa, a client that disconnects does not cancel the next handler', async () => {
  const recorder = createRecorder()
  const { observer, waitFor } = recorder
  const { gate, release } = createGate()
  let runs = 0
  const app = quiet(new Koa()).use(
    koaWebhook({ signatureKey, observer, duplicates: createMemoryDuplicates() }),
  )
  app.use(async (ctx) => {
    runs++
    await gate
    ctx.body = 'late'
  })
  const mounted = await listen(app.callback())
  const controller = new AbortController()
  const sent = fetch(mounted.url, { ...request, signal: controller.signal })
  await waitFor('accepted')
  controller.abort()
  await expect(sent).rejects.toThrow()
  expect((await send(mounted.url, request)).status).toBe(409)
  release()
  await waitFor('handled')
  expect((await send(mounted.url, request)).text).toBe('{"status":"duplicate"}')
  expect(runs).toBe(1)
  expect(recorder.lines).not.toContain('failed handler_failed')
  await mounted.close()
})
