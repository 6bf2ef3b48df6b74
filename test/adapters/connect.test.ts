import type { RequestListener } from 'node:http'

import connect from 'connect'
import express from 'express'
import { createReceiver, type ReceiverOptions } from 'geohook'
import { webhook } from 'geohook/express'
import { createPayload, createSigner } from 'geohook/testing'
import polka from 'polka'
import supertest from 'supertest'
import { describe, expect, it } from 'vitest'
import { createRecorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const request = await createSigner({ signatureKey }).sign(
  createPayload(['FeaturesCreated', 'FeaturesUpdated']),
)

const post = (listener: RequestListener, path = '/hook') =>
  supertest(listener).post(path).set(request.headers).send(request.body)
const handled = (options: Partial<ReceiverOptions> = {}) =>
  webhook(createReceiver({ signatureKey, ...options }).on('*', () => {}))
const listenerOf = (app: polka.Polka) => app.handler as RequestListener

describe('in Connect', () => {
  it('verifies requests to its path, and does not affect the parsers of other paths', async () => {
    const app = connect()
      .use('/a', handled())
      .use('/b', handled({ signatureKey: 'another' }))
      .use(express.json({ limit: 20 }))
      .use('/other', (req, res) => void res.end(JSON.stringify((req as { body?: unknown }).body)))
    await post(app, '/a').expect(200)
    await post(app, '/b').expect(401)
    await supertest(app).post('/other').send({ a: 1 }).expect(200, '{"a":1}')
    await supertest(app).post('/other').type('json').send('{"a":').expect(400)
    await supertest(app)
      .post('/other')
      .send({ a: 'x'.repeat(30) })
      .expect(413)
  })

  it('passes the complete URL to the key function', async () => {
    const urls: string[] = []
    const signatureKeyOf = ({ url }: { url: string }) => {
      urls.push(url)
      return signatureKey
    }
    await post(connect().use('/api/hook', handled({ signatureKey: signatureKeyOf })), '/api/hook?x=1').expect(
      200,
    )
    expect(urls).toEqual(['/api/hook?x=1'])
  })

  it('reports the parser that ran first', async () => {
    const { observer, calls } = createRecorder()
    await post(connect().use(express.json()).use('/hook', handled({ observer }))).expect(500)
    expect(calls[0]?.error?.message).toContain('a body parser')
  })

  it.each([
    ['fine', 200, 'handled'],
    ['broken', 503, 'failed handler_failed'],
    ['missing', 404, 'handled'],
    ['throwing', 500, 'failed handler_failed'],
  ])(
    'passes the delivery on, and reports the outcome of the next handler: %s',
    async (name, status, line) => {
      const { observer, waitFor } = createRecorder()
      const app = connect().use('/hook', webhook({ signatureKey, observer }))
      app.use('/hook', (req, res, next) => {
        if (name === 'missing') return next()
        if (name === 'throwing') throw new Error('oops')
        res.statusCode = status
        res.end(String((req as { delivery?: { changeTypes: string[] } }).delivery?.changeTypes))
      })
      const quiet: connect.ErrorHandleFunction = (_error, _req, res, _next) => {
        res.statusCode = 500
        res.end()
      }
      app.use(quiet)
      const answer = await post(app).expect(status)
      if (name === 'fine') expect(answer.text).toBe('FeaturesCreated,FeaturesUpdated')
      await waitFor(line)
    },
  )
})

describe('in Polka', () => {
  it('passes the route parameters and the complete URL to the key function', async () => {
    const keyRequests: unknown[] = []
    const options: ReceiverOptions = {
      signatureKey: ({ url, params }) => {
        keyRequests.push(url, { ...params })
        return signatureKey
      },
    }
    await post(listenerOf(polka().post('/:tenant/hook', handled(options))), '/lyon/hook?x=1').expect(200)
    await post(listenerOf(polka().use('/api', handled(options))), '/api/hook?x=1').expect(200)
    expect(keyRequests).toEqual(['/lyon/hook?x=1', { tenant: 'lyon' }, '/api/hook?x=1', {}])
  })

  it('passes the delivery to the next handler', async () => {
    const { observer, waitFor } = createRecorder()
    const app = polka().post('/hook', webhook({ signatureKey, observer }), (req, res) => {
      res.end(String((req as { delivery?: { changeTypes: string[] } }).delivery?.changeTypes))
    })
    await post(listenerOf(app)).expect(200, 'FeaturesCreated,FeaturesUpdated')
    await waitFor('handled')
  })

  it('returns 500 if the next handler throws, because Polka does not catch exceptions', async () => {
    const { observer, waitFor } = createRecorder()
    const app = polka().post('/hook', webhook({ signatureKey, observer }), () => {
      throw new Error('oops')
    })
    const answer = await post(listenerOf(app)).expect(500)
    expect(answer.text).not.toContain('oops')
    await waitFor('failed handler_failed')
  })

  it('responds itself if Polka passes no next function', async () => {
    const app = polka().post('/hook', webhook({ signatureKey }))
    await post(listenerOf(app)).expect(200, '{"status":"unhandled"}')
    await supertest(listenerOf(app)).post('/hook').send({}).expect(401)
  })
})

it.each([
  ['nothing', []],
  ['an object', [{ pathname: '/' }]],
])('responds itself if the host passes %s instead of next', async (_, rest) => {
  const middleware = webhook({ signatureKey }) as (...args: unknown[]) => Promise<void>
  await post((req, res) => void middleware(req, res, ...rest)).expect(200, '{"status":"unhandled"}')
})
