import type { RequestListener } from 'node:http'
import type { Http2Server } from 'node:http2'
import type { HttpFunction } from '@google-cloud/functions-framework'
import connect from 'connect'
import express, { type Request, type Response } from 'express'
import fastify, { type FastifyInstance, type FastifyPluginCallback } from 'fastify'
import { createReceiver, type Delivery } from 'geohook'
import { webhook as expressWebhook } from 'geohook/express'
import { webhook as fastifyWebhook, type WebhookPluginOptions } from 'geohook/fastify'
import { webhook as koaWebhook, type WebhookState } from 'geohook/koa'
import { webhook as nodeWebhook } from 'geohook/node'
import Koa from 'koa'
import polka from 'polka'
import { expectTypeOf, it } from 'vitest'
import { z } from 'zod'

const receiver = createReceiver({ signatureKey: 'k' })
const typed = createReceiver({ signatureKey: 'k', schema: {} as never })

it('webhook() is a Fastify plugin, and types request.delivery', () => {
  expectTypeOf(fastifyWebhook(receiver)).toExtend<FastifyPluginCallback<WebhookPluginOptions>>()
  const app = fastify()
  app.register(fastifyWebhook(receiver))
  app.register(fastifyWebhook(typed), { prefix: '/a' })
  app.register(fastifyWebhook({ signatureKey: 'k' }), {
    prefix: '/b',
    handler: async (request, reply) => {
      expectTypeOf(request.delivery).toExtend<Delivery>()
      reply.header('a', 'b')
      return request.delivery.changeTypes
    },
  })
  // @ts-expect-error a handler is a function
  app.register(fastifyWebhook(receiver), { handler: 'log' })
  // @ts-expect-error a misspelt option of the receiver
  app.register(fastifyWebhook({ signaturKey: 'k' }))
  fastify({ logger: true }).register(fastifyWebhook(receiver), { prefix: '/c' })
  const secure = {} as FastifyInstance<Http2Server>
  secure.register(fastifyWebhook(receiver), { prefix: '/d' })
})

it('webhook() is Koa middleware, and does not change the types of the app', () => {
  expectTypeOf(koaWebhook(receiver)).toExtend<Koa.Middleware>()
  const app = new Koa()
  expectTypeOf(app.use(koaWebhook(receiver)).use(koaWebhook({ signatureKey: 'k' }))).toExtend<Koa>()
  const own = new Koa<{ user: string; delivery?: Delivery }, { db: number }>()
  own.use(koaWebhook({ signatureKey: 'k' }))
  own.use(async (ctx, next) => {
    expectTypeOf(ctx.state.delivery).toEqualTypeOf<Delivery | undefined>()
    await koaWebhook(receiver)(ctx, next)
  })
  // @ts-expect-error not a context
  koaWebhook(receiver)({}, async () => {})
})

it('webhook() of geohook/express is assignable to handlers of Connect and Polka', () => {
  connect().use('/hook', expressWebhook(receiver))
  polka()
    .post('/hook', expressWebhook(receiver))
    .use(expressWebhook({ signatureKey: 'k' }))
  expectTypeOf(expressWebhook(receiver)).toExtend<HttpFunction>()
})

it('webhook() of geohook/node is assignable to handlers of Google Cloud Functions and node:http', () => {
  expectTypeOf(nodeWebhook(receiver)).toExtend<HttpFunction>()
  expectTypeOf(nodeWebhook(receiver)).toExtend<RequestListener>()
})

const schema = z.object({ serviceName: z.string() })
interface Payload {
  serviceName: string
}

it('a schema types the payload in Express, in every handler of the route', () => {
  const hook = expressWebhook({ signatureKey: 'k', schema })
  express()
    .post('/hooks/:tenant', hook, (req, res) => {
      expectTypeOf(req.delivery?.payload).toEqualTypeOf<Payload | undefined>()
      expectTypeOf(req.params.tenant).toEqualTypeOf<string>()
      res.locals.mine = 1
      // @ts-expect-error no such member
      req.delivery?.payload.serviceNme
    })
    .use('/all', hook, (req, _res, next) => {
      expectTypeOf(req.delivery).toEqualTypeOf<Delivery<Payload> | undefined>()
      next()
    })
    .post('/annotated', hook, (req: Request, res: Response) => {
      expectTypeOf(req.delivery).toEqualTypeOf<Delivery | undefined>()
      res.json(req.delivery?.id)
    })
    .get('/without', (req, res) => {
      expectTypeOf(req.delivery).toEqualTypeOf<Delivery | undefined>()
      res.end()
    })
  express.Router().post('/', expressWebhook(createReceiver({ signatureKey: 'k', schema })), (req) => {
    expectTypeOf(req.delivery?.payload).toEqualTypeOf<Payload | undefined>()
  })
  express().post('/', expressWebhook({ signatureKey: 'k' }), (req) => {
    expectTypeOf(req.delivery).toEqualTypeOf<Delivery | undefined>()
  })
})

it('a schema types the payload in the handler of the Fastify plugin', () => {
  const created = createReceiver({ signatureKey: 'k', schema })
  for (const plugin of [fastifyWebhook({ signatureKey: 'k', schema }), fastifyWebhook(created)])
    fastify().register(plugin, {
      prefix: '/a',
      handler: (request) => {
        expectTypeOf(request.delivery.payload).toEqualTypeOf<Payload>()
      },
    })
})

it('WebhookState types the delivery in Koa', () => {
  const hook = koaWebhook({ signatureKey: 'k', schema })
  new Koa<WebhookState<Payload>>().use(hook).use((ctx) => {
    expectTypeOf(ctx.state.delivery.payload).toEqualTypeOf<Payload>()
  })
  new Koa<{ user: string } & WebhookState>().use(koaWebhook(receiver)).use((ctx) => {
    expectTypeOf(ctx.state.delivery).toEqualTypeOf<Delivery>()
    expectTypeOf(ctx.state.user).toEqualTypeOf<string>()
  })
})
