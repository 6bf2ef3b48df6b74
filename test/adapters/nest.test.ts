import {
  type INestApplication,
  type MiddlewareConsumer,
  Module,
  type NestApplicationOptions,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { createReceiver, type ReceiverOptions } from 'geohook'
import { webhook } from 'geohook/express'
import { createPayload, createSigner } from 'geohook/testing'
import supertest from 'supertest'
import { afterEach, expect, it } from 'vitest'
import { createRecorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const request = await createSigner({ signatureKey }).sign(
  createPayload(['FeaturesCreated', 'FeaturesUpdated']),
)

interface Res {
  json(body: unknown): void
}

/**
 * Returns a module whose middleware runs after NestJS's parsers: one function echoes the bodies sent to /other, and
 * `afterParsers`, if given, serves /hooks/parcels.
 */
function createApp(afterParsers?: ReturnType<typeof webhook>): new () => object {
  class App {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply((req: { body: unknown }, res: Res) => res.json(req.body)).forRoutes('other')
      if (afterParsers) consumer.apply(afterParsers).forRoutes('hooks/parcels')
    }
  }
  Module({})(App)
  return App
}

const open: INestApplication[] = []
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

async function create(
  App = createApp(),
  options: NestApplicationOptions = {},
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(App, { logger: false, ...options })
  open.push(app)
  return app
}

const post = (app: INestApplication, path = '/hooks/parcels') =>
  supertest(app.getHttpServer()).post(path).set(request.headers).send(request.body)
const handled = (options: Partial<ReceiverOptions> = {}) =>
  webhook(createReceiver({ signatureKey, ...options }).on('*', () => {}))

it('runs before the parsers of NestJS if mounted right after NestFactory.create', async () => {
  const app = await create()
  app.use('/hooks/parcels', handled())
  app.use('/hooks/roads', handled({ signatureKey: 'another' }))
  await app.init()
  await post(app).expect(200, { status: 'handled' })
  await post(app, '/hooks/roads').expect(401)
  await supertest(app.getHttpServer()).get('/hooks/parcels').expect(405)
  await supertest(app.getHttpServer()).post('/other').send({ a: 1 }).expect(200, { a: 1 })
  await supertest(app.getHttpServer()).post('/other').type('json').send('{"a":').expect(400)
})

it('works after the parsers if rawBody is enabled', async () => {
  const { observer, calls } = createRecorder()
  const hook = handled({ observer, limit: request.bytes.length })
  const app = await create(createApp(hook), { rawBody: true })
  await app.init()
  await post(app).expect(200, { status: 'handled' })
  await post(app).set('x-service', '0'.repeat(64)).expect(401)
  expect(Buffer.from(calls[0]?.delivery?.rawBody ?? [])).toEqual(Buffer.from(request.bytes))
  const small = await create(createApp(handled({ limit: request.bytes.length - 1 })), { rawBody: true })
  await small.init()
  await post(small).expect(413)
})

it('returns 500 with a hint if a parser runs first and rawBody is not enabled', async () => {
  const { observer, calls } = createRecorder()
  const app = await create(createApp(handled({ observer })))
  await app.init()
  await post(app).expect(500)
  expect(calls[0]?.code).toBe('body_already_parsed')
  expect(calls[0]?.error?.hint).toContain('NestFactory.create(App, { rawBody: true })')
})

it('passes a delivery to the next handler', async () => {
  const { observer, waitFor } = createRecorder()
  const app = await create()
  app.use(
    '/hooks/parcels',
    webhook({ signatureKey, observer }),
    (req: { delivery: { changeTypes: string[] } }, res: Res) => res.json(req.delivery.changeTypes),
  )
  await app.init()
  await post(app).expect(200, ['FeaturesCreated', 'FeaturesUpdated'])
  await waitFor('handled')
})
