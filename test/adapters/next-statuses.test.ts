import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import type { ReceiverOptions } from 'geohook'
import { webhook as expressWebhook } from 'geohook/express'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook as h3Webhook } from 'geohook/h3'
import { webhook as honoWebhook } from 'geohook/hono'
import { createMemoryDuplicates } from 'geohook/inbox'
import { webhook as koaWebhook } from 'geohook/koa'
import { createOtelObserver } from 'geohook/otel'
import { createPayload, createSigner } from 'geohook/testing'
import { H3, HTTPError } from 'h3'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import Koa from 'koa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { send } from '../helpers/http.ts'
import { listen, type Mounted } from '../helpers/mounts/mounted.ts'
import { listenFastify, quiet } from '../helpers/mounts/node.ts'
import { listenH3, listenHono } from '../helpers/mounts/web.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { createTelemetry } from '../otel/support.ts'

const signatureKey = 'parcels2026'
const request = await createSigner({ signatureKey }).sign(createPayload('FeaturesCreated'))

/** What the next handler does: responds with `status`, or throws the framework's HTTP error, or any error. */
type Next = { status: number } | { httpError: number } | { error: Error }

/** Mounts `webhook(options)` and a next handler, as an application of the framework does. */
type Application = (options: ReceiverOptions, next: Next) => Promise<Mounted>

const fail = (error: unknown): never => {
  throw error
}

const withStatus = (status: number): Error => Object.assign(new Error('mine'), { status })

const inExpress =
  (framework: typeof express): Application =>
  (options, next) => {
    const app = framework().set('env', 'test') // keeps Express from printing errors
    app.post('/hook', expressWebhook(options), (_req, res, pass) => {
      if ('status' in next) res.status(next.status).end()
      else pass('error' in next ? next.error : withStatus(next.httpError))
    })
    return listen(app)
  }

const APPLICATIONS: Record<string, Application> = {
  'Express 5': inExpress(express),
  'Express 4': inExpress(express4),
  'Fastify 5': (options, next) =>
    listenFastify(
      fastify().register(fastifyWebhook(options), {
        prefix: '/hook',
        handler: async (_request, reply) => {
          if ('status' in next) return reply.code(next.status).send()
          throw 'error' in next ? next.error : Object.assign(new Error(), { statusCode: next.httpError })
        },
      }),
    ),
  'Koa 3': (options, next) =>
    listen(
      quiet(new Koa())
        .use(koaWebhook(options))
        .use((ctx) => {
          if ('status' in next) ctx.status = next.status
          else if ('error' in next) throw next.error
          else ctx.throw(next.httpError)
        })
        .callback(),
    ),
  Hono: (options, next) =>
    listenHono(
      new Hono()
        .onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text('', 500)))
        .post('/hook', honoWebhook(options), (c) => {
          if ('status' in next) return c.body(null, next.status as 200)
          throw 'error' in next ? next.error : new HTTPException(next.httpError as 500)
        }),
    ),
  h3: (options, next) =>
    listenH3(
      new H3({ silent: true }).use(h3Webhook(options)).post('/hook', (event) => {
        if (!('status' in next))
          return fail('error' in next ? next.error : new HTTPError({ status: next.httpError }))
        event.res.status = next.status
        return ''
      }),
    ),
}

/** Sends the delivery twice. Returns both statuses, and the calls of the observer for the first. */
async function play(mount: Application, next: Next): Promise<unknown[]> {
  const { observer, calls, waitFor } = createRecorder()
  const mounted = await mount({ signatureKey, observer, duplicates: createMemoryDuplicates() }, next)
  onTestFinished(() => mounted.close())
  const first = await send(mounted.url, request)
  await Promise.race([waitFor('handled'), waitFor('failed handler_failed')])
  const { name, outcome, error } = calls[1] ?? {}
  const second = await send(mounted.url, request)
  const isRepeated = second.text !== '{"status":"duplicate"}'
  return [first.status, name, outcome?.status, outcome?.kind, error?.status, isRepeated]
}

describe.each(Object.entries(APPLICATIONS))('in %s', (_, mount) => {
  it.each([202, 204, 302, 401, 404, 422, 499])(
    'a response with status %s is reported as it is, and the delivery is not handled again',
    async (status) => {
      expect(await play(mount, { status })).toEqual([status, 'handled', status, 'handled', undefined, false])
    },
  )

  it.each([500, 503])('a response with status %s is a failure, and the retry is handled', async (status) => {
    expect(await play(mount, { status })).toEqual([status, 'failed', status, 'failed', status, true])
  })

  it('an HTTP error of the framework is reported as the response that it becomes', async () => {
    const answered = await play(mount, { httpError: 422 })
    expect(answered).toEqual([422, 'handled', 422, 'handled', undefined, false])
    const failed = await play(mount, { httpError: 503 })
    expect(failed).toEqual([503, 'failed', 503, 'failed', 503, true])
  })

  it('any other error is a failure', async () => {
    const failed = await play(mount, { error: new Error('oops') })
    expect(failed).toEqual([500, 'failed', 500, 'failed', 500, true])
  })
})

it.each(['Koa 3', 'Hono', 'h3'])('in %s, the cause of the failure is the thrown error', async (name) => {
  const { observer, calls, waitFor } = createRecorder()
  const error = new Error('oops')
  const mounted = await APPLICATIONS[name]?.({ signatureKey, observer }, { error })
  onTestFinished(() => mounted?.close())
  await send(`${mounted?.url}`, request)
  await waitFor('failed handler_failed')
  expect(calls[1]?.error?.cause).toBe(error)
})

it('in Koa, an error that is not meant for the client is a failure, even if Koa responds with 404', async () => {
  const error = Object.assign(new Error('no such file'), { code: 'ENOENT', status: 404 })
  const failed = await play(APPLICATIONS['Koa 3'] as Application, { error })
  expect(failed).toEqual([404, 'failed', 404, 'failed', 404, true])
})

it('in Koa, the status that other middleware sets afterwards is reported', async () => {
  const { observer, calls, waitFor } = createRecorder()
  const app = quiet(new Koa())
    .use(async (ctx, next) => {
      await next().catch(() => {})
      ctx.status = 409
    })
    .use(koaWebhook({ signatureKey, observer }))
  app.use((ctx) => {
    ctx.status = 202
  })
  const mounted = await listen(app.callback())
  onTestFinished(() => mounted.close())
  expect((await send(mounted.url, request)).status).toBe(409)
  await waitFor('handled')
  expect(calls[1]?.outcome?.status).toBe(409)
})

it('spans and metrics have the status that the next handler sent', async () => {
  const telemetry = createTelemetry()
  const options = { signatureKey, observer: createOtelObserver(telemetry.providers) }
  for (const status of [204, 422, 503]) {
    const mounted = await inExpress(express)(options, { status })
    await send(mounted.url, request)
    await mounted.close()
  }
  await expect.poll(() => telemetry.spans().length, { timeout: 60_000 }).toBe(3)
  const reported = telemetry
    .spans()
    .map(({ attributes, status }) => [
      attributes['http.response.status_code'],
      attributes['geohook.outcome'],
      attributes['error.type'],
      status.code,
    ])
  expect(reported).toEqual([
    [204, 'handled', undefined, 0],
    [422, 'handled', undefined, 0],
    [503, 'failed', 'handler_failed', 2],
  ])
  const counted = (await telemetry.points()).filter(({ name }) => name === 'geohook.requests')
  expect(counted.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([204, 422, 503])
})
