import type { HttpFunctionOptions, HttpHandler } from '@azure/functions'
import type {
  ALBHandler,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
  LambdaFunctionURLHandler,
} from 'aws-lambda'
import { createReceiver, type Delivery } from 'geohook'
import { webhook as azure } from 'geohook/azure'
import { webhook as h3, type VerifiedEvent } from 'geohook/h3'
import { webhook as hono, type WebhookEnv } from 'geohook/hono'
import { webhook as lambda } from 'geohook/lambda'
import { type EventHandler, H3, type H3EventContext, type Middleware } from 'h3'
import { Hono } from 'hono'
import { expectTypeOf, it } from 'vitest'
import { z } from 'zod'

const receiver = createReceiver({ signatureKey: 'k' })

it('webhook() of Hono adds the delivery to the context, with the payload type of the schema', () => {
  const untyped = new Hono()
  untyped.post('/a', hono({ signatureKey: 'k' }), (c) => {
    expectTypeOf(c.get('delivery')).toEqualTypeOf<Delivery>()
    expectTypeOf(c.var.delivery).toEqualTypeOf<Delivery>()
    return c.text('')
  })
  const schema = z.object({ serviceName: z.string() })
  new Hono<{ Variables: { user: string } }>()
    .use('/hooks/*', hono({ signatureKey: 'k', schema }))
    .post('/hooks/:tenant', (c) => {
      expectTypeOf(c.var.delivery.payload).toEqualTypeOf<{ serviceName: string }>()
      expectTypeOf(c.get('user')).toEqualTypeOf<string>()
      return c.text(c.req.param('tenant'))
    })
  new Hono().post('/', hono(createReceiver({ signatureKey: 'k', schema })), (c) => {
    expectTypeOf(c.get('delivery').payload).toEqualTypeOf<{ serviceName: string }>()
    return c.text('')
  })
  new Hono().post('/', hono(receiver), (c) => {
    expectTypeOf(c.get('delivery')).toEqualTypeOf<Delivery>()
    return c.text('')
  })
  new Hono().post('/', hono(receiver)).all('/hooks/*', hono(receiver))
  // @ts-expect-error no delivery without webhook()
  new Hono().post('/', (c) => c.json(c.get('delivery')))
  // @ts-expect-error an unknown option
  hono({ signatureKey: 'k', signatureKye: 'k' })
})

it('webhook() of Hono can be called inside a handler, with a key from c.env', () => {
  type Bindings = { KEY: string }
  new Hono<{ Bindings: Bindings; Variables: { user: string } }>()
    .post('/hooks/:tenant', (c, next) => hono({ signatureKey: c.env.KEY })(c, next))
    .use('/all/*', (c, next) => hono({ signatureKey: c.env.KEY })(c, next))
    .post('/a', hono({ signatureKey: 'k' }), (c) => {
      expectTypeOf(c.env.KEY).toEqualTypeOf<string>()
      expectTypeOf(c.get('user')).toEqualTypeOf<string>()
      expectTypeOf(c.get('delivery')).toEqualTypeOf<Delivery>()
      return c.text('')
    })
  new Hono<{ Bindings: Bindings } & WebhookEnv<{ serviceName: string }>>().post(
    '/',
    (c, next) => hono({ signatureKey: c.env.KEY })(c, next),
    (c) => c.text(c.get('delivery').payload.serviceName),
  )
})

it('webhook() of h3 is a handler and middleware', () => {
  expectTypeOf(h3(receiver)).toExtend<EventHandler>()
  expectTypeOf(h3(receiver)).toExtend<Middleware>()
  expectTypeOf<H3EventContext['delivery']>().toEqualTypeOf<Delivery | undefined>()
  new H3().use('/a/**', h3(receiver)).post('/b', (event) => event.context.delivery?.id, {
    middleware: [h3({ signatureKey: 'k' })],
  })
})

it('webhook() of Lambda is a handler for every host', () => {
  const handler = lambda(receiver)
  expectTypeOf(handler).toExtend<APIGatewayProxyHandler>()
  expectTypeOf(handler).toExtend<APIGatewayProxyHandlerV2>()
  expectTypeOf(handler).toExtend<LambdaFunctionURLHandler>()
  expectTypeOf(handler).toExtend<ALBHandler>()
  const handlers: [APIGatewayProxyHandler, APIGatewayProxyHandlerV2, LambdaFunctionURLHandler, ALBHandler] = [
    handler,
    handler,
    handler,
    handler,
  ]
  expectTypeOf(handlers).not.toBeAny()
  expectTypeOf(lambda({ signatureKey: 'k' })).toEqualTypeOf(handler)
})

it('webhook() of Azure Functions is an HTTP handler', () => {
  expectTypeOf(azure(receiver)).toExtend<HttpHandler>()
  const options: HttpFunctionOptions = { methods: ['POST'], authLevel: 'anonymous', handler: azure(receiver) }
  expectTypeOf(options).not.toBeAny()
})

it('a schema types the payload in the handler option of h3', () => {
  const schema = z.object({ serviceName: z.string() })
  const created = createReceiver({ signatureKey: 'k', schema })
  const handler = (event: VerifiedEvent<{ serviceName: string }>) =>
    event.context.delivery.payload.serviceName
  new H3().post('/a', h3(created, { handler })).post(
    '/b',
    h3(
      { signatureKey: 'k', schema },
      {
        handler: (event) => {
          expectTypeOf(event.context.delivery.payload).toEqualTypeOf<{ serviceName: string }>()
          expectTypeOf(event.req.url).toEqualTypeOf<string>()
        },
      },
    ),
  )
  // @ts-expect-error a handler is a function
  h3(created, { handler: 'log' })
})
