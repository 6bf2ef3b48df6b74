import { createReceiver } from 'geohook'
import { createOtelObserver } from 'geohook/otel'
import { describe, expect, it } from 'vitest'
import { METRIC_ATTRIBUTES, METRICS } from '../../src/otel/spans.ts'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'
import { CASES } from '../helpers/outcomes.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { createTelemetry, type Point, type Telemetry } from './support.ts'

const named = (points: Point[], name: keyof typeof METRICS): Point[] =>
  points.filter((point) => point.name === name)

describe('metrics', () => {
  it.each(CASES)('count %s', async (name, { kind, status, play }) => {
    const telemetry = createTelemetry()
    await play(createOtelObserver({ ...telemetry.providers, observer: createRecorder().observer }))
    const points = await telemetry.points()
    expect(named(points, 'geohook.requests')).toMatchObject([
      {
        value: 1,
        attributes: {
          'messaging.destination.name': 'webhook',
          'geohook.outcome': kind,
          'http.response.status_code': status,
          ...(name === kind ? {} : { 'error.type': name }),
        },
      },
    ])
    expect(named(points, 'geohook.in_flight').map(({ value }) => value)).toEqual([0])
    const isDelivery = ['handled', 'unhandled', 'stored', 'duplicate', 'failed'].includes(kind)
    for (const histogram of ['messaging.process.duration', 'geohook.delivery.body.size'] as const)
      expect(named(points, histogram).length).toBe(isDelivery ? 1 : 0)
    for (const point of points) {
      expect(point.unit).toBe(METRICS[point.name as keyof typeof METRICS])
      expect(
        Object.keys(point.attributes).filter((key) => !METRIC_ATTRIBUTES.includes(key as never)),
      ).toEqual([])
    }
  })

  it('measure seconds and bytes', async () => {
    const telemetry = createTelemetry()
    let inHandler = 0
    const receiver = createReceiver({
      signatureKey: KEY,
      observer: createOtelObserver(telemetry.providers),
    }).on('*', async () => {
      const began = performance.now()
      await new Promise((resolve) => setTimeout(resolve, 20))
      inHandler = performance.now() - began
    })
    const body = payloadOf('A')
    const began = performance.now()
    await deliver(receiver, body)
    const inTotal = performance.now() - began
    const points = await telemetry.points()
    const [duration] = named(points, 'messaging.process.duration')
    expect(duration?.value).toMatchObject({ count: 1 })
    const milliseconds = ((duration?.value as { sum: number } | undefined)?.sum ?? 0) * 1000
    expect(milliseconds).toBeGreaterThanOrEqual(inHandler)
    expect(milliseconds).toBeLessThanOrEqual(inTotal)
    expect(duration?.attributes).toEqual({
      'messaging.system.name': 'webhook',
      'messaging.operation.name': 'process',
      'messaging.destination.name': 'webhook',
      'geohook.outcome': 'handled',
      'http.response.status_code': 200,
    })
    expect(named(points, 'geohook.delivery.body.size')[0]?.value).toMatchObject({
      count: 1,
      sum: body.length,
    })
  })

  it('count requests in flight', async () => {
    const telemetry = createTelemetry()
    const inFlight: unknown[] = []
    const receiver = createReceiver({
      signatureKey: KEY,
      observer: createOtelObserver(telemetry.providers),
    }).on('*', async () => {
      inFlight.push(named(await telemetry.points(), 'geohook.in_flight')[0]?.value)
    })
    await deliver(receiver, payloadOf('A'))
    expect(inFlight).toEqual([1])
  })

  it('have one time series for each outcome, whatever clients send', async () => {
    const telemetry = createTelemetry()
    const observer = createOtelObserver({ ...telemetry.providers, observer: { refused() {} } })
    const receiver = createReceiver({ signatureKey: KEY, observer })
    for (let i = 0; i < 200; i++) {
      const url = `http://receiver.example/hook/${i}?token=${i}`
      const headers = { 'x-service': i % 2 ? `${i}` : '', 'user-agent': `agent ${i}` }
      await receiver.fetch(new Request(url, { method: i % 3 ? 'POST' : `M${i}`, headers }))
      await deliver(receiver, payloadOf(`Type${i}`))
    }
    const codes = named(await telemetry.points(), 'geohook.requests').map(
      ({ attributes }) => attributes['error.type'],
    )
    expect(codes.sort()).toEqual([
      'method_not_allowed',
      'signature_malformed',
      'signature_missing',
      undefined,
    ])
    expect(methodsOf(telemetry)).toEqual(['POST', '_OTHER'])
  })
})

const methodsOf = (telemetry: Telemetry): unknown[] =>
  [...new Set(telemetry.spans().map(({ attributes }) => attributes['http.request.method']))].sort()
