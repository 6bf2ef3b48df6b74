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

/** Sends a delivery. Returns its status, and the observer calls, spans and metrics that were recorded. */
async function sendDelivery(options: Pick<OtelOptions, 'tracerProvider' | 'meterProvider'>) {
  const telemetry = createTelemetry()
  const calls: string[] = []
  const observer: Observer = { around: () => calls.push('around'), handled: () => calls.push('handled') }
  let active = false
  const receiver = createReceiver({
    signatureKey: KEY,
    observer: createOtelObserver({ ...telemetry.providers, ...options, observer }),
  }).on('*', () => {
    active = trace.getActiveSpan() !== undefined
  })
  const { status } = await deliver(receiver, payloadOf('FeaturesCreated'))
  return {
    status,
    calls,
    active,
    spans: telemetry.spans().map(({ attributes }) => attributes['geohook.outcome']),
    metrics: (await telemetry.points()).map(({ name }) => name).sort(),
  }
}

const ALL = [
  'geohook.delivery.body.size',
  'geohook.in_flight',
  'geohook.requests',
  'messaging.process.duration',
]
const COMPLETE = { status: 200, calls: ['around', 'handled'], active: true, spans: ['handled'], metrics: ALL }

/** Creates a tracer provider with a broken span processor and a working one. */
const withProcessor = (broken: Partial<SpanProcessor>): TracerProvider => {
  const none = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} }
  const spanProcessors = [{ ...none, ...broken }, new SimpleSpanProcessor(new InMemorySpanExporter())]
  return new BasicTracerProvider({ spanProcessors })
}

/** Creates a tracer provider whose spans throw in the function with this name. */
function withSpan(broken: string): TracerProvider {
  const tracer = createTelemetry().providers.tracerProvider.getTracer('real')
  const startSpan: typeof tracer.startSpan = (...args) =>
    Object.assign(tracer.startSpan(...args), { [broken]: fail })
  return { getTracer: () => ({ ...tracer, startSpan }) as unknown as typeof tracer }
}

describe('if one part is broken, only its own data is missing', () => {
  it('records everything if nothing is broken', async () => {
    expect(await sendDelivery({})).toEqual(COMPLETE)
  })

  it.each<[string, () => TracerProvider]>([
    ['a processor at the end', () => withProcessor({ onEnd: fail })],
    ...['isRecording', 'setAttributes', 'end'].map((name): [string, () => TracerProvider] => [
      `${name} of a span`,
      () => withSpan(name),
    ]),
  ])('loses spans: %s', async (_, create) => {
    expect(await sendDelivery({ tracerProvider: create() })).toEqual({ ...COMPLETE, spans: [] })
  })

  it.each<[string, () => TracerProvider]>([
    ['a processor at the start', () => withProcessor({ onStart: fail })],
    ['startSpan', () => ({ getTracer: () => ({ startSpan: fail, startActiveSpan: fail }) })],
    [
      'no span',
      () => ({ getTracer: () => ({ startSpan: () => undefined as never, startActiveSpan: fail }) }),
    ],
  ])('loses spans and the active span: %s', async (_, create) => {
    expect(await sendDelivery({ tracerProvider: create() })).toEqual({
      ...COMPLETE,
      spans: [],
      active: false,
    })
  })

  it('ends a span whose attributes cannot be set', async () => {
    const telemetry = createTelemetry()
    const tracer = telemetry.providers.tracerProvider.getTracer('real')
    const startSpan: typeof tracer.startSpan = (...args) =>
      Object.assign(tracer.startSpan(...args), { setAttributes: fail })
    const tracerProvider = { getTracer: () => ({ startSpan, startActiveSpan: fail }) }
    await sendDelivery({ tracerProvider })
    expect(telemetry.spans().length).toBe(1)
  })

  it.each([
    ['createHistogram', ['geohook.in_flight', 'geohook.requests']],
    ['createCounter', ALL.filter((name) => name !== 'geohook.requests')],
    ['createUpDownCounter', ALL.filter((name) => name !== 'geohook.in_flight')],
  ])('loses the metrics of %s', async (broken, metrics) => {
    const telemetry = createTelemetry()
    const meter = telemetry.providers.meterProvider.getMeter('real')
    Object.assign(meter, { [broken]: fail })
    const result = await sendDelivery({ meterProvider: { getMeter: () => meter } })
    expect(result).toEqual({ ...COMPLETE, metrics: [] })
    expect((await telemetry.points()).map(({ name }) => name).sort()).toEqual(metrics)
  })

  it.each([
    ['createHistogram', 'record', ['geohook.in_flight', 'geohook.requests']],
    ['createCounter', 'add', ALL.filter((name) => name !== 'geohook.requests')],
    ['createUpDownCounter', 'add', ALL.filter((name) => name !== 'geohook.in_flight')],
  ])('loses the metrics of an instrument of %s whose %s fails', async (create, broken, metrics) => {
    const telemetry = createTelemetry()
    const meter = telemetry.providers.meterProvider.getMeter('real')
    Object.assign(meter, { [create]: () => ({ [broken]: fail }) })
    const result = await sendDelivery({ meterProvider: { getMeter: () => meter } })
    expect(result).toEqual({ ...COMPLETE, metrics: [] })
    expect((await telemetry.points()).map(({ name }) => name).sort()).toEqual(metrics)
  })

  it.each(['active', 'with'])('handles the delivery if %s of the context fails', async (broken) => {
    const real = new AsyncLocalStorageContextManager().enable()
    onTestFinished(() => {
      context.disable()
      context.setGlobalContextManager(real)
    })
    context.disable()
    context.setGlobalContextManager(
      Object.assign(new AsyncLocalStorageContextManager().enable(), { [broken]: fail }),
    )
    const calls: string[] = []
    const observer: Observer = { around: () => calls.push('around'), handled: () => calls.push('handled') }
    const receiver = createReceiver({
      signatureKey: KEY,
      observer: createOtelObserver({ ...createTelemetry().providers, observer }),
    }).on('*', () => calls.push('handler'))
    expect((await deliver(receiver, payloadOf('FeaturesCreated'))).status).toBe(200)
    expect(calls).toEqual(['around', 'handler', 'handled'])
  })

  it('loses metrics without a meter', async () => {
    const meterProvider: MeterProvider = { getMeter: fail }
    expect(await sendDelivery({ meterProvider })).toEqual({ ...COMPLETE, metrics: [] })
  })
})

it('handles a rejected promise of another realm from an observer', async () => {
  const unhandled: unknown[] = []
  const record = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', record)
  const observer: Observer = { around: () => runInNewContext("Promise.reject(new Error('theirs'))") }
  const receiver = createReceiver({ signatureKey: KEY, observer: createOtelObserver({ observer }) })
  expect((await deliver(receiver, payloadOf('FeaturesCreated'))).status).toBe(200)
  await new Promise((resolve) => setImmediate(resolve)) // Node reports unhandled rejections after the microtasks
  process.off('unhandledRejection', record)
  expect(unhandled).toEqual([])
})
