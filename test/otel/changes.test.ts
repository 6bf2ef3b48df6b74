import { SpanKind, SpanStatusCode, type TracerProvider, trace } from '@opentelemetry/api'
import { BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { type ChangesObserver, createChanges, type Step, type StepResult } from 'geohook/changes'
import { createOtelChangesObserver } from 'geohook/otel'
import { describe, expect, it } from 'vitest'
import { FAST, startService, TOKEN, toEvent } from '../changes/support.ts'
import { createTelemetry, withContext } from './support.ts'

withContext()

/** Starts a mock whose jobs are unfinished at two polls, and a client whose steps are recorded. */
async function startRecorded(mock: Parameters<typeof startService>[0] = {}) {
  const telemetry = createTelemetry()
  const { tracerProvider } = telemetry.providers
  const service = await startService({ extractChanges: { answer: 'job', polls: 2 }, ...mock })
  const observer = createOtelChangesObserver({ tracerProvider })
  return { ...telemetry, tracerProvider, service, observer, changes: service.changes({ observer }) }
}

const names = (spans: readonly ReadableSpan[]): string[] => spans.map(({ name }) => name)

const fail = (): never => {
  throw new Error('broken')
}

describe('createOtelChangesObserver', () => {
  it('records a span for each step, a child of the active span', async () => {
    const { tracerProvider, service, changes, spans } = await startRecorded()
    await tracerProvider.getTracer('test').startActiveSpan('handler', async (span) => {
      await changes.of(service.event())
      span.end()
    })
    const [handler, ...steps] = [...spans()].reverse()
    steps.reverse()
    expect(names(steps)).toEqual([
      'changes submit',
      'changes poll',
      'changes poll',
      'changes poll',
      'changes fetch',
    ])
    for (const { kind, status, parentSpanContext } of steps) {
      expect([kind, status.code]).toEqual([SpanKind.INTERNAL, SpanStatusCode.UNSET])
      expect(parentSpanContext?.spanId).toBe(handler?.spanContext().spanId)
    }
    const { hostname, port } = new URL(service.origin)
    const common = {
      'server.address': hostname,
      'server.port': Number(port),
      'geohook.changes.requests': 1,
    }
    expect(steps.map(({ attributes }) => attributes)).toEqual([
      { ...common, 'geohook.changes.step': 'submit' },
      { ...common, 'geohook.changes.step': 'poll', 'geohook.changes.job_state': 'ExportChanges' },
      { ...common, 'geohook.changes.step': 'poll', 'geohook.changes.job_state': 'ExportAttachments' },
      { ...common, 'geohook.changes.step': 'poll', 'geohook.changes.job_state': 'Completed' },
      { ...common, 'geohook.changes.step': 'fetch' },
    ])
  })

  it('makes the span of a step active while its requests are sent', async () => {
    const { service, observer, spans } = await startRecorded()
    const active: unknown[] = []
    const changes = service.changes({
      observer,
      fetch(url, init) {
        active.push(trace.getActiveSpan()?.spanContext().spanId)
        return fetch(url, init)
      },
    })
    await changes.of(service.event())
    expect(active).toEqual(spans().map((span) => span.spanContext().spanId))
  })

  it('marks the poll that finds a failed job as an error', async () => {
    const { service, changes, spans } = await startRecorded()
    service.service.faults.add({ fault: 'job_failed' })
    await expect(changes.of(service.event())).rejects.toMatchObject({ code: 'changes_failed' })
    const failed = spans().filter(({ status }) => status.code === SpanStatusCode.ERROR)
    expect(names(failed)).toEqual(['changes poll'])
    expect(failed[0]?.attributes).toMatchObject({
      'geohook.changes.job_state': 'Failed',
      'error.type': 'changes_failed',
    })
    // After a failure, the client asks whether the service still has these changes.
    expect(names(spans()).at(-1)).toBe('changes describe')
  })

  it('records the code of an error of the service, and counts the requests of a step', async () => {
    const { service, observer, spans } = await startRecorded()
    service.service.faults.add({ fault: 'token_expired', times: 2, step: 'submit' })
    let count = 0
    const changes = service.changes({ observer, token: () => `t${count++}-secret` })
    await expect(changes.of(service.event())).rejects.toMatchObject({ code: 'changes_token_rejected' })
    const [submit] = spans()
    expect(submit?.attributes).toMatchObject({
      'geohook.changes.requests': 2,
      'geohook.changes.service_code': 498,
      'error.type': 'changes_token_rejected',
    })
  })

  it('records the class of the reason with which a signal is aborted, not its message', async () => {
    const { service, observer, spans } = await startRecorded()
    const controller = new AbortController()
    class LeaseLost extends Error {}
    const changes = service.changes({
      observer,
      async fetch(url, init) {
        controller.abort(new LeaseLost('parcel 7'))
        return fetch(url, init)
      },
    })
    await expect(changes.of(service.event(), controller)).rejects.toBeInstanceOf(LeaseLost)
    await expect.poll(() => spans()[0]?.attributes['error.type'], { timeout: 60_000 }).toBe('LeaseLost')
    expect(JSON.stringify(spans()[0]?.attributes)).not.toContain('parcel 7')
  })

  it('records no path, query, token, feature or message', async () => {
    const { service, changes, spans } = await startRecorded()
    await changes.of(service.event())
    service.service.faults.add({ fault: 'error_with_200', times: 4 })
    await expect(changes.of(service.event())).rejects.toMatchObject({ code: 'changes_unavailable' })
    const text = JSON.stringify(spans().map(({ name, attributes, events }) => ({ name, attributes, events })))
    expect(text).toContain('changes_unavailable')
    for (const secret of [TOKEN, 'Parcels', 'rest', 'serverGens', 'http', 'one', 'two'])
      expect(text).not.toContain(secret)
  })

  it('replaces the state of a job if it is not an identifier', async () => {
    const { observer, spans } = await startRecorded()
    const states = ['the token is t1-secret-token', 'x'.repeat(65), 'Completed']
    const base = 'https://gis.example.com/FeatureServer'
    const changes = createChanges({
      origins: ['https://gis.example.com'],
      pollInterval: FAST,
      observer,
      async fetch({ pathname }) {
        if (pathname.endsWith('/extractChanges')) return Response.json({ statusUrl: `${base}/jobs/1` })
        if (pathname.endsWith('/1')) return Response.json({ status: states.shift(), resultUrl: `${base}/2` })
        return Response.json({ edits: [] })
      },
    })
    await changes.of(toEvent(`${base}/extractChanges?serverGens=[1,2]`))
    const found = spans().map(({ attributes }) => attributes['geohook.changes.job_state'])
    expect(found).toEqual([undefined, '_OTHER', '_OTHER', 'Completed', undefined])
    expect(spans()[0]?.attributes).toMatchObject({ 'server.address': 'gis.example.com', 'server.port': 443 })
  })
})

describe('another observer', () => {
  it('is called within the span, and gets the same results', async () => {
    const { service, tracerProvider, spans } = await startRecorded()
    const seen: { step: string; result: StepResult; span: string | undefined }[] = []
    class Recorder implements ChangesObserver {
      async around({ step, run }: Step): Promise<void> {
        const span = trace.getActiveSpan()?.spanContext().spanId
        seen.push({ step, span, result: await run() })
      }
    }
    const observer = createOtelChangesObserver({ tracerProvider, observer: new Recorder() })
    await service.changes({ observer }).of(service.event())
    expect(seen.map(({ step }) => `changes ${step}`)).toEqual(names(spans()))
    expect(seen.map(({ span }) => span)).toEqual(spans().map((span) => span.spanContext().spanId))
    expect(seen.map(({ result }) => result.state)).toEqual([
      undefined,
      'ExportChanges',
      'ExportAttachments',
      'Completed',
      undefined,
    ])
  })

  it('does not disturb the extraction if it throws', async () => {
    const { service, tracerProvider, spans } = await startRecorded()
    const observer = createOtelChangesObserver({ tracerProvider, observer: { around: fail } })
    expect((await service.changes({ observer }).of(service.event())).layers).toHaveLength(1)
    expect(names(spans())).toContain('changes fetch')
  })

  it('must have no unknown function', () => {
    expect(() => createOtelChangesObserver({ observer: { arround: fail } as object })).toThrow(
      'unknown observer function arround: did you mean around?',
    )
  })
})

describe('a broken SDK', () => {
  const withSpan = (broken: string): TracerProvider => {
    const tracer = new BasicTracerProvider().getTracer('real')
    const startSpan: typeof tracer.startSpan = (...args) =>
      Object.assign(tracer.startSpan(...args), { [broken]: fail })
    return { getTracer: () => ({ ...tracer, startSpan }) as unknown as typeof tracer }
  }

  it.each<[string, TracerProvider]>([
    ['startSpan', { getTracer: () => ({ startSpan: fail, startActiveSpan: fail }) }],
    ['setAttributes', withSpan('setAttributes')],
    ['setStatus', withSpan('setStatus')],
    ['end', withSpan('end')],
  ])('does not disturb the extraction if %s throws', async (_, broken) => {
    const service = await startService()
    const steps: string[] = []
    const inner: ChangesObserver = { around: ({ step }) => steps.push(step) }
    const observer = createOtelChangesObserver({ tracerProvider: broken, observer: inner })
    expect((await service.changes({ observer }).of(service.event())).layers).toHaveLength(1)
    expect(steps).toContain('submit')
  })
})
