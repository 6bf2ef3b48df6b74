import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { createReceiver, type Observer } from 'geohook'
import { createOtelObserver } from 'geohook/otel'
import { describe, expect, it } from 'vitest'
import { SPAN_ATTRIBUTES } from '../../src/otel/spans.ts'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'
import { CASES } from '../helpers/outcomes.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { warningsOf } from '../helpers/warnings.ts'
import { createTelemetry, withContext } from './support.ts'

withContext()

describe('the span of a request', () => {
  it.each(CASES)('%s', async (name, { kind, status, play }) => {
    const telemetry = createTelemetry()
    await play(createOtelObserver({ ...telemetry.providers, observer: createRecorder().observer }))
    const spans = telemetry.spans()
    expect(spans.length).toBe(1)
    const [span] = spans
    expect(span).toMatchObject({
      name: 'process webhook',
      kind: SpanKind.CONSUMER,
      ended: true,
      parentSpanContext: undefined,
      status: { code: status >= 500 ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
      attributes: {
        'messaging.system.name': 'webhook',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'webhook',
        'http.request.method': name.startsWith('handshake') || name === 'method_not_allowed' ? 'GET' : 'POST',
        'http.response.status_code': status,
        'geohook.outcome': kind,
      },
    })
    const { attributes = {} } = span ?? {}
    if (name !== kind) expect(attributes['error.type']).toBe(name)
    const isDelivery = ['handled', 'unhandled', 'stored', 'duplicate', 'failed'].includes(kind)
    expect('messaging.message.id' in attributes).toBe(isDelivery)
    expect(Object.keys(attributes).filter((key) => !SPAN_ATTRIBUTES.includes(key as never))).toEqual([])
  })

  it('has the attributes of the delivery', async () => {
    const telemetry = createTelemetry()
    const observer = createOtelObserver({ ...telemetry.providers, destination: 'parcels' })
    const body = payloadOf('FeaturesCreated', 'FeaturesDeleted', 'FeaturesCreated')
    let id = ''
    const receiver = createReceiver({ signatureKey: ['new', KEY], observer }).on('*', (_, delivery) => {
      id = delivery.id
    })
    await deliver(receiver, body)
    const [span] = telemetry.spans()
    expect(span?.name).toBe('process parcels')
    expect(span?.attributes).toEqual({
      'messaging.system.name': 'webhook',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'parcels',
      'messaging.message.id': id,
      'messaging.message.body.size': body.length,
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'geohook.outcome': 'handled',
      'geohook.profile': 'service',
      'geohook.key_index': 1,
      'geohook.change_types': ['FeaturesCreated', 'FeaturesDeleted'],
      'geohook.event_count': 3,
    })
    expect(span?.events).toEqual([])
  })

  it('has the class and code of each handler error', async () => {
    const telemetry = createTelemetry()
    class ParcelError extends Error {}
    const thrown: unknown[] = [
      new ParcelError('x'),
      Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
      Object.assign(new Error('x'), { code: 'a sentence', name: 'another' }),
      'text',
      null,
      Object.create(null),
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('x')
          },
        },
      ),
    ]
    const observer = createOtelObserver({ ...telemetry.providers, observer: { failed() {} } })
    const receiver = createReceiver({ signatureKey: KEY, observer })
    for (const error of thrown) receiver.on('*', () => Promise.reject(error))
    expect((await deliver(receiver, payloadOf('A'))).status).toBe(500)
    const [span] = telemetry.spans()
    expect(span?.events.map(({ name }) => name)).toEqual(thrown.map(() => 'exception'))
    expect(span?.events.map(({ attributes }) => attributes)).toEqual([
      { 'exception.type': 'ParcelError' },
      { 'exception.type': 'Error', 'geohook.exception.code': 'ECONNREFUSED' },
      { 'exception.type': 'Error' },
      { 'exception.type': 'string' },
      { 'exception.type': 'object' },
      { 'exception.type': '_OTHER' },
      { 'exception.type': '_OTHER' },
    ])
  })

  it('starts with the request and ends with its outcome', async () => {
    const telemetry = createTelemetry()
    const before = Date.now()
    let during = 0
    const receiver = createReceiver({
      signatureKey: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20))
        during = Date.now()
        return KEY
      },
      observer: createOtelObserver(telemetry.providers),
    })
    await deliver(receiver, payloadOf('A'))
    const [span] = telemetry.spans()
    const millisecondsOf = ([seconds, nanoseconds]: [number, number]) => seconds * 1000 + nanoseconds / 1e6
    const start = millisecondsOf(span?.startTime ?? [0, 0])
    expect(start).toBeGreaterThanOrEqual(before - 1)
    expect(start).toBeLessThan(during)
    expect(millisecondsOf(span?.endTime ?? [0, 0])).toBeGreaterThanOrEqual(during - 1)
  })

  it('may be dropped by a sampler', async () => {
    const { AlwaysOffSampler, BasicTracerProvider } = await import('@opentelemetry/sdk-trace-base')
    const tracerProvider = new BasicTracerProvider({ sampler: new AlwaysOffSampler() })
    const observer = createOtelObserver({ tracerProvider })
    expect((await deliver(createReceiver({ signatureKey: KEY, observer }), payloadOf('A'))).status).toBe(200)
  })
})

describe('with another observer', () => {
  it('calls all its functions as methods', async () => {
    class Counting {
      lines: string[] = []
      around({ run }: { run: () => unknown }) {
        this.lines.push(trace.getActiveSpan() ? 'around in a span' : 'around')
        return run()
      }
      accepted() {
        this.lines.push('accepted')
      }
      handled() {
        this.lines.push('handled')
      }
    }
    const counting = new Counting()
    const observer = createOtelObserver({ ...createTelemetry().providers, observer: counting })
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => counting.lines.push('run'))
    await deliver(receiver, payloadOf('A'))
    expect(counting.lines).toEqual(['around in a span', 'accepted', 'run', 'handled'])
  })

  it('leaves events without a function to the log', async () => {
    const observed = createOtelObserver({ ...createTelemetry().providers, observer: { refused() {} } })
    const plain = createOtelObserver(createTelemetry().providers)
    const linesOf = (observer: Observer) =>
      warningsOf(() => deliver(createReceiver({ signatureKey: KEY, observer }), '{}', { 'x-service': '' }))
    expect(await linesOf(observed)).toEqual([])
    expect(await linesOf(plain)).toEqual([expect.stringMatching(/^signature_missing/)])
  })

  it.each<[string, Observer]>([
    [
      'throws in around',
      {
        around() {
          throw new Error('x')
        },
      },
    ],
    ['rejects in around', { around: () => Promise.reject(new Error('x')) }],
    ['never calls run', { around() {} }],
    [
      'has a getter that throws',
      {
        get handled(): never {
          throw new Error('x')
        },
      },
    ],
  ])('that %s, handles the delivery once and records a complete span', async (_, observer) => {
    const telemetry = createTelemetry()
    let runs = 0
    const receiver = createReceiver({
      signatureKey: KEY,
      observer: createOtelObserver({ ...telemetry.providers, observer }),
    }).on('*', () => ++runs)
    expect((await deliver(receiver, payloadOf('A'))).status).toBe(200)
    expect([runs, telemetry.spans().map(({ attributes }) => attributes['geohook.outcome'])]).toEqual([
      1,
      ['handled'],
    ])
  })
})

it('handles deliveries if the tracer fails', async () => {
  const tracerProvider = {
    getTracer: () => ({
      startSpan() {
        throw new Error('x')
      },
      startActiveSpan() {
        throw new Error('x')
      },
    }),
  }
  const receiver = createReceiver({ signatureKey: KEY, observer: createOtelObserver({ tracerProvider }) })
  expect((await deliver(receiver, payloadOf('A'))).status).toBe(200)
})

it.each([
  ['an empty destination', { destination: '' }],
  ['a destination that is not a string', { destination: 7 }],
  ['an observer of null', { observer: null }],
])('rejects %s at construction', (_, options) => {
  expect(() => createOtelObserver(options as object)).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  )
})
