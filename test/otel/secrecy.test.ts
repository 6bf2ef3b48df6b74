import { runInNewContext } from 'node:vm'
import { createReceiver } from 'geohook'
import { createOtelObserver } from 'geohook/otel'
import { describe, expect, it } from 'vitest'
import { deliver, KEY, signatureOf } from '../helpers/deliver.ts'
import { CASES, SECRETS } from '../helpers/outcomes.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { createTelemetry, type Telemetry } from './support.ts'

/** Returns all data that would be exported, as text. */
async function exported(telemetry: Telemetry): Promise<string> {
  const spans = telemetry.spans().map(({ name, attributes, events, links, status, resource }) => ({
    name,
    attributes,
    events,
    links,
    status,
    resource: resource.attributes,
  }))
  return JSON.stringify([spans, await telemetry.points()])
}

describe('spans and metrics contain no secrets, and limited data from clients', () => {
  it('the exported text would contain a recorded secret', async () => {
    const telemetry = createTelemetry()
    telemetry.providers.tracerProvider
      .getTracer('x')
      .startSpan('x', { attributes: { a: [SECRETS.body] } })
      .end()
    expect(await exported(telemetry)).toContain(SECRETS.body)
  })

  it.each(CASES)('%s', async (_, { play }) => {
    const telemetry = createTelemetry()
    await play(createOtelObserver({ ...telemetry.providers, observer: createRecorder().observer }))
    const text = await exported(telemetry)
    expect(text).toContain('process webhook')
    for (const secret of Object.values(SECRETS)) expect(text).not.toContain(secret)
    expect(text).not.toContain('receiver.example')
    expect(text).not.toMatch(/[0-9a-f]{64}/) // a signature
    expect(text).not.toContain('1111111111') // the trace id of the request
    expect(text).not.toContain('cannot read') // the handler's message
    expect(text.length).toBeLessThan(6000)
  })

  const long = 'x'.repeat(10_000)
  it.each<[string, string[]]>([
    ['change types of 10 kB', [long, `${long}y`]],
    ['10,000 events of 10,000 types', Array.from({ length: 10_000 }, (_, index) => `Type${index}`)],
    [
      'sentences, markup and secrets',
      ['the key is parcels2026', '<script>', 'a=b&c', 'Bearer header-secret', '\u0000'],
    ],
    ['types that are property names of JavaScript objects', ['__proto__', 'constructor', 'toString']],
  ])('%s', async (_, changeTypes) => {
    const telemetry = createTelemetry()
    const receiver = createReceiver({ signatureKey: KEY, observer: createOtelObserver(telemetry.providers) })
    const body = JSON.stringify({ events: changeTypes.map((eventType) => ({ eventType })) })
    expect((await deliver(receiver, body)).status).toBe(200)
    const text = await exported(telemetry)
    expect(text.length).toBeLessThan(6000)
    expect(text).not.toContain('x'.repeat(65))
    for (const part of ['parcels2026', 'script', 'a=b', 'header-secret', signatureOf(body)])
      expect(text).not.toContain(part)
    const [span] = telemetry.spans()
    const listed = span?.attributes['geohook.change_types'] as string[]
    expect(listed.length).toBeLessThanOrEqual(16)
    expect(span?.attributes['geohook.event_count']).toBe(changeTypes.length)
  })

  it('limits the errors of one failure', async () => {
    const telemetry = createTelemetry()
    const observer = createOtelObserver({ ...telemetry.providers, observer: { failed() {} } })
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => {
      throw new RangeError(SECRETS.body)
    })
    await deliver(receiver, JSON.stringify({ events: Array(10_000).fill('A') }))
    expect(telemetry.spans()[0]?.events.length).toBe(16)
    expect(await exported(telemetry)).not.toContain(SECRETS.body)
  })
})

describe('a thrown value is described by its constructor', () => {
  const hostile = {
    constructor: { name: 'SecretOfTheBody' },
    name: 'SecretOfTheBody',
    code: 'SECRET_OF_THE_BODY',
    events: [{ eventType: 'FeaturesCreated' }],
  }
  class Refused extends Error {
    code = 'ERR_REFUSED'
  }

  it.each<[string, (payload: object) => unknown, Record<string, unknown>]>([
    ['the payload', (payload) => payload, { 'exception.type': 'Object' }],
    [
      'an object that inherits from the payload',
      (payload) => Object.create(payload),
      { 'exception.type': '_OTHER' },
    ],
    ['an object without a prototype', () => Object.create(null), { 'exception.type': '_OTHER' }],
    [
      'an error with the constructor of the payload',
      (payload) => Object.assign(new RangeError('x'), payload, { code: undefined }),
      { 'exception.type': 'RangeError' },
    ],
    [
      'an error of a class',
      () => new Refused('x'),
      { 'exception.type': 'Refused', 'geohook.exception.code': 'ERR_REFUSED' },
    ],
    [
      'an error of another realm',
      () => runInNewContext("Object.assign(new TypeError('x'), { code: 'ERR_REFUSED' })"),
      { 'exception.type': 'TypeError', 'geohook.exception.code': 'ERR_REFUSED' },
    ],
    [
      'a proxy that throws',
      () =>
        new Proxy(
          {},
          {
            getPrototypeOf() {
              throw new Error('no')
            },
          },
        ),
      { 'exception.type': '_OTHER' },
    ],
  ])('%s', async (_, make, expected) => {
    const telemetry = createTelemetry()
    const observer = createOtelObserver({ ...telemetry.providers, observer: createRecorder().observer })
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', (_event, { payload }) => {
      throw make(payload as object)
    })
    expect((await deliver(receiver, JSON.stringify(hostile))).status).toBe(500)
    expect(telemetry.spans()[0]?.events.map(({ attributes }) => attributes)).toEqual([expected])
    expect(await exported(telemetry)).not.toMatch(/secret/i)
  })
})
