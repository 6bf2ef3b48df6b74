import { runInNewContext } from 'node:vm'
import { context, type MeterProvider, type TracerProvider, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { createReceiver, type Observer } from 'geohook'
import { createOtelObserver, type OtelOptions } from 'geohook/otel'
import { describe, expect, it, onTestFinished } from 'vitest'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'
import { createTelemetry, withContext } from './support.ts'

withContext()

const fail = (): never => {
  throw new Error('broken')
}

/** One delivery, and what each piece has done for it. */
async function play(options: Pick<OtelOptions, 'tracerProvider' | 'meterProvider'>) {
  const telemetry = createTelemetry()
  const told: string[] = []
  const observer: Observer = { around: () => told.push('around'), handled: () => told.push('handled') }
  let active = false
  const receiver = createReceiver({
    signatureKey: KEY,
    observer: createOtelObserver({ ...telemetry, ...options, observer }),
  }).on('*', () => {
    active = trace.getActiveSpan() !== undefined
  })
  const { status } = await deliver(receiver, payloadOf('FeaturesCreated'))
  return {
    status,
    told,
    active,
    spans: telemetry.spans().map(({ attributes }) => attributes['geohook.outcome']),
    metrics: (await telemetry.points()).map(({ name }) => name).sort(),
  }
}

const ALL = [
  'geohook.at_work',
  'geohook.delivery.body.size',
  'geohook.requests',
  'messaging.process.duration',
]
const WHOLE = { status: 200, told: ['around', 'handled'], active: true, spans: ['handled'], metrics: ALL }

/** A provider of the SDK with a processor of someone's own. */
const withProcessor = (broken: Partial<SpanProcessor>): TracerProvider => {
  const none = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} }
  const spanProcessors = [{ ...none, ...broken }, new SimpleSpanProcessor(new InMemorySpanExporter())]
  return new BasicTracerProvider({ spanProcessors })
}

/** The SDK's provider, of whose spans one function is broken. */
function withSpan(broken: string): TracerProvider {
  const tracer = createTelemetry().tracerProvider.getTracer('real')
  const startSpan: typeof tracer.startSpan = (...args) =>
    Object.assign(tracer.startSpan(...args), { [broken]: fail })
  return { getTracer: () => ({ ...tracer, startSpan }) as unknown as typeof tracer }
}

describe('one broken piece costs nothing else', () => {
  it('nothing is broken', async () => {
    expect(await play({})).toEqual(WHOLE)
  })

  it.each<[string, () => TracerProvider]>([
    ['a processor at the end', () => withProcessor({ onEnd: fail })],
    ...['isRecording', 'setAttributes', 'end'].map((name): [string, () => TracerProvider] => [
      `${name} of a span`,
      () => withSpan(name),
    ]),
  ])('spans: %s', async (_, create) => {
    expect(await play({ tracerProvider: create() })).toEqual({ ...WHOLE, spans: [] })
  })

  it.each<[string, () => TracerProvider]>([
    ['a processor at the start', () => withProcessor({ onStart: fail })],
    ['startSpan', () => ({ getTracer: () => ({ startSpan: fail, startActiveSpan: fail }) })],
    [
      'no span',
      () => ({ getTracer: () => ({ startSpan: () => undefined as never, startActiveSpan: fail }) }),
    ],
  ])('no span to be active: %s', async (_, create) => {
    expect(await play({ tracerProvider: create() })).toEqual({ ...WHOLE, spans: [], active: false })
  })

  it('a span that cannot be described is ended', async () => {
    const telemetry = createTelemetry()
    const tracer = telemetry.tracerProvider.getTracer('real')
    const startSpan: typeof tracer.startSpan = (...args) =>
      Object.assign(tracer.startSpan(...args), { setAttributes: fail })
    const tracerProvider = { getTracer: () => ({ startSpan, startActiveSpan: fail }) }
    await play({ tracerProvider })
    expect(telemetry.spans().length).toBe(1)
  })

  it.each([
    ['createHistogram', ['geohook.at_work', 'geohook.requests']],
    ['createCounter', ALL.filter((name) => name !== 'geohook.requests')],
    ['createUpDownCounter', ALL.filter((name) => name !== 'geohook.at_work')],
  ])('metrics: %s', async (broken, metrics) => {
    const telemetry = createTelemetry()
    const meter = telemetry.meterProvider.getMeter('real')
    Object.assign(meter, { [broken]: fail })
    const played = await play({ meterProvider: { getMeter: () => meter } })
    expect(played).toEqual({ ...WHOLE, metrics: [] })
    expect((await telemetry.points()).map(({ name }) => name).sort()).toEqual(metrics)
  })

  it.each([
    ['createHistogram', 'record', ['geohook.at_work', 'geohook.requests']],
    ['createCounter', 'add', ALL.filter((name) => name !== 'geohook.requests')],
    ['createUpDownCounter', 'add', ALL.filter((name) => name !== 'geohook.at_work')],
  ])('metrics: what %s makes, at %s', async (create, broken, metrics) => {
    const telemetry = createTelemetry()
    const meter = telemetry.meterProvider.getMeter('real')
    Object.assign(meter, { [create]: () => ({ [broken]: fail }) })
    const played = await play({ meterProvider: { getMeter: () => meter } })
    expect(played).toEqual({ ...WHOLE, metrics: [] })
    expect((await telemetry.points()).map(({ name }) => name).sort()).toEqual(metrics)
  })

  it.each(['active', 'with'])('the context: %s', async (broken) => {
    const real = new AsyncLocalStorageContextManager().enable()
    onTestFinished(() => {
      context.disable()
      context.setGlobalContextManager(real)
    })
    context.disable()
    context.setGlobalContextManager(
      Object.assign(new AsyncLocalStorageContextManager().enable(), { [broken]: fail }),
    )
    const told: string[] = []
    const observer: Observer = { around: () => told.push('around'), handled: () => told.push('handled') }
    const receiver = createReceiver({
      signatureKey: KEY,
      observer: createOtelObserver({ ...createTelemetry(), observer }),
    }).on('*', () => told.push('handler'))
    expect((await deliver(receiver, payloadOf('FeaturesCreated'))).status).toBe(200)
    expect(told).toEqual(['around', 'handler', 'handled'])
  })

  it('metrics: no meter', async () => {
    const meterProvider: MeterProvider = { getMeter: fail }
    expect(await play({ meterProvider })).toEqual({ ...WHOLE, metrics: [] })
  })
})

it('an observer that rejects with a promise of another realm is as harmless as any', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  const observer: Observer = { around: () => runInNewContext("Promise.reject(new Error('theirs'))") }
  const receiver = createReceiver({ signatureKey: KEY, observer: createOtelObserver({ observer }) })
  expect((await deliver(receiver, payloadOf('FeaturesCreated'))).status).toBe(200)
  await new Promise((resolve) => setImmediate(resolve)) // Node tells of it when the microtasks are done
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})
