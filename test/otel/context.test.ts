import { context, metrics, trace } from '@opentelemetry/api'
import express from 'express'
import { createReceiver, type Receiver } from 'geohook'
import { webhook } from 'geohook/express'
import { createOtelObserver } from 'geohook/otel'
import { afterEach, describe, expect, it } from 'vitest'
import { deliver, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { createTelemetry, withContext } from './support.ts'

withContext()

const BODY = payloadOf('FeaturesCreated')

describe('the span is active', () => {
  it('in key functions, schemas, stores and handlers', async () => {
    const telemetry = createTelemetry()
    const tracer = telemetry.providers.tracerProvider.getTracer('database')
    const query = async <T>(name: string, answer: T): Promise<T> => {
      const span = tracer.startSpan(name)
      await new Promise((resolve) => setImmediate(resolve))
      span.end()
      return answer
    }
    const receiver = createReceiver({
      signatureKey: () => query('key', KEY),
      schema: {
        '~standard': { version: 1, vendor: 'test', validate: (value) => query('schema', { value }) },
      },
      duplicates: {
        claim: () => query('claim', 'claimed' as const),
        done: () => query('done', undefined),
        release: async () => {},
      },
      observer: createOtelObserver(telemetry.providers),
    })
    receiver.on('*', () => query('first', undefined)).on('*', () => query('second', undefined))
    await deliver(receiver, BODY)
    const spans = telemetry.spans()
    const ours = spans.find(({ name }) => name === 'process webhook')
    expect(spans.map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId])).toEqual([
      ...['key', 'schema', 'claim', 'first', 'second', 'done'].map((name) => [
        name,
        ours?.spanContext().spanId,
      ]),
      ['process webhook', undefined],
    ])
  })

  it('for each of many concurrent requests, and not after them', async () => {
    const telemetry = createTelemetry()
    const tracer = telemetry.providers.tracerProvider.getTracer('database')
    const receiver = createReceiver({ signatureKey: KEY, observer: createOtelObserver(telemetry.providers) })
    receiver.on('*', async ({ changeType }) => {
      await new Promise((resolve) => setImmediate(resolve))
      tracer.startSpan(changeType).end()
    })
    await Promise.all(Array.from({ length: 20 }, (_, index) => deliver(receiver, payloadOf(`Type${index}`))))
    expect(trace.getActiveSpan()).toBeUndefined()
    const spans = telemetry.spans()
    const children = spans.filter(({ name }) => name.startsWith('Type'))
    expect(children.length).toBe(20)
    for (const { name, parentSpanContext } of children) {
      const parent = spans.find((span) => span.spanContext().spanId === parentSpanContext?.spanId)
      expect(parent?.attributes['geohook.change_types']).toEqual([name])
    }
  })
})

describe('the parent of the span', () => {
  it('is the active span, not the one in the request', async () => {
    const telemetry = createTelemetry()
    const server = telemetry.providers.tracerProvider.getTracer('http').startSpan('POST /hook')
    const receiver = createReceiver({ signatureKey: KEY, observer: createOtelObserver(telemetry.providers) })
    const traceparent = '00-11111111111111111111111111111111-2222222222222222-01'
    await context.with(trace.setSpan(context.active(), server), () =>
      deliver(receiver, BODY, { traceparent }),
    )
    const [ours] = telemetry.spans()
    expect(ours?.parentSpanContext?.spanId).toBe(server.spanContext().spanId)
    expect(ours?.spanContext().traceId).toBe(server.spanContext().traceId)
  })
})

describe('in Express, on a socket', () => {
  const open: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const mounted of open.splice(0)) await mounted.close()
  })
  const start = async (receiver: Receiver, ...handlers: express.RequestHandler[]): Promise<string> => {
    const mounted = await listen(express().post('/hook', webhook(receiver), ...handlers))
    open.push(mounted)
    return mounted.url
  }
  const signed = {
    headers: { 'content-type': 'application/json', 'x-service': signatureOf(BODY) },
    body: BODY,
  }

  it('handlers run in the span, and a rejected request has one too', async () => {
    const telemetry = createTelemetry()
    const tracer = telemetry.providers.tracerProvider.getTracer('database')
    const observer = createOtelObserver({ ...telemetry.providers, observer: { refused() {} } })
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () =>
      tracer.startSpan('query').end(),
    )
    const url = await start(receiver)
    expect((await send(url, signed)).status).toBe(200)
    expect((await send(`${url}?token=secret`, { ...signed, body: `${BODY} ` })).status).toBe(401)
    const [query, handled, refused] = telemetry.spans()
    expect(query?.parentSpanContext?.spanId).toBe(handled?.spanContext().spanId)
    expect(handled?.attributes['geohook.outcome']).toBe('handled')
    expect(refused?.attributes).toMatchObject({
      'geohook.outcome': 'refused',
      'error.type': 'signature_mismatch',
    })
  })

  it('handlers after the middleware run in the span', async () => {
    const telemetry = createTelemetry()
    const tracer = telemetry.providers.tracerProvider.getTracer('database')
    const receiver = createReceiver({ signatureKey: KEY, observer: createOtelObserver(telemetry.providers) })
    const url = await start(receiver, (_, res) => {
      tracer.startSpan('query').end()
      res.json({})
    })
    expect((await send(url, signed)).status).toBe(200)
    await receiver.close()
    const [query, handled] = telemetry.spans()
    expect(query?.parentSpanContext?.spanId).toBe(handled?.spanContext().spanId)
  })
})

describe('the registered SDK', () => {
  afterEach(() => {
    trace.disable()
    metrics.disable()
  })

  it('is used, even if it is registered after the first delivery', async () => {
    const telemetry = createTelemetry()
    const receiver = createReceiver({ signatureKey: KEY, observer: createOtelObserver() })
    expect((await deliver(receiver, BODY)).status).toBe(200)
    trace.setGlobalTracerProvider(telemetry.providers.tracerProvider)
    metrics.setGlobalMeterProvider(telemetry.providers.meterProvider)
    for (let i = 0; i < 2; i++) expect((await deliver(receiver, BODY)).status).toBe(200)
    expect(telemetry.spans().length).toBe(2)
    const requests = (await telemetry.points()).filter(({ name }) => name === 'geohook.requests')
    expect(requests.map(({ value }) => value)).toEqual([2])
  })
})

describe('the built package', () => {
  it.each([
    ['ESM', "import { createReceiver } from 'geohook'; import { createOtelObserver } from 'geohook/otel'"],
    [
      'CommonJS',
      "const { createReceiver } = require('geohook'); const { createOtelObserver } = require('geohook/otel')",
    ],
  ])('works as %s without an SDK', async (format, imports) => {
    const { startNode } = await import('../helpers/process.ts')
    const code = `${imports}
      const receiver = createReceiver({ signatureKey: 'k', observer: createOtelObserver({ observer: { refused() {} } }) })
      receiver.fetch(new Request('http://a.example', { method: 'POST', body: '{}' })).then(({ status }) => console.log(status))`
    const type = format === 'ESM' ? 'module' : 'commonjs'
    const run = startNode([`--input-type=${type}`, '--eval', code])
    expect([await run.exited, run.output]).toEqual([0, '401\n'])
  })
})
