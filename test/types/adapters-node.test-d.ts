import type { RequestListener } from 'node:http'
import type { Http2Server } from 'node:http2'
import type { HttpFunction } from '@google-cloud/functions-framework'
import connect from 'connect'
import fastify, { type FastifyInstance, type FastifyPluginCallback } from 'fastify'
import { createReceiver, type Delivery } from 'geohook'
import { webhook as expressWebhook } from 'geohook/express'
import { webhook as fastifyWebhook, type WebhookPluginOptions } from 'geohook/fastify'
import { webhook as koaWebhook } from 'geohook/koa'
import { webhook as nodeWebhook } from 'geohook/node'
import Koa from 'koa'
import polka from 'polka'
import { expectTypeOf, it } from 'vitest'

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
      expectTypeOf(request.delivery).toEqualTypeOf<Delivery | undefined>()
      reply.header('a', 'b')
      return request.delivery?.changeTypes
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
