import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { metrics } from '@opentelemetry/api'
import { AggregationTemporality } from '@opentelemetry/sdk-metrics'
import { createReceiver } from 'geohook'
import { createMemoryInbox, type DurableInbox, type InboxObserver, type InboxOptions } from 'geohook/inbox'
import { createOtelInboxObserver, createOtelObserver } from 'geohook/otel'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { METRIC_ATTRIBUTES, METRICS } from '../../src/otel/spans.ts'
import { until } from '../contract/inbox/fixture.ts'
import { fill, handleAll, leaveAll, payloads } from '../helpers/dead-letters.ts'
import { deliver, KEY } from '../helpers/deliver.ts'
import { createFolder } from '../helpers/folder.ts'
import { createGate } from '../helpers/gate.ts'
import { warningsOf } from '../helpers/warnings.ts'
import { createTelemetry, type Point, type Telemetry } from './support.ts'

afterEach(() => metrics.disable())

type Name = keyof typeof METRICS
const ATTEMPTS = 'geohook.inbox.attempt.duration'
const PUTS = 'geohook.inbox.put.duration'
const DELIVERIES = 'geohook.inbox.deliveries'
const AGE = 'geohook.inbox.oldest.age'
const NONE = { waiting: 0, active: 0, done: 0, dead: 0, unhandled: 0 }

const named = (points: Point[], name: Name): Point[] => points.filter((point) => point.name === name)
const nameOf = (points: Point[]) => [...new Set(points.map(({ name }) => name))].sort()

/** Returns the values of a metric by an attribute: those of a gauge, and the counts of a histogram. */
const valuesBy = (points: Point[], name: Name, attribute: string): Record<string, number> =>
  Object.fromEntries(
    named(points, name).map(({ attributes, value }) => [
      attributes[attribute],
      typeof value === 'number' ? value : value.count,
    ]),
  )
const statesOf = (points: Point[]) => valuesBy(points, DELIVERIES, 'geohook.inbox.state')
const outcomesOf = (points: Point[], name: Name) => valuesBy(points, name, 'geohook.outcome')
const ageOf = (points: Point[]) => named(points, AGE).map(({ value }) => value)

/** Creates an inbox that is closed after the test. */
function keep(inbox: DurableInbox): DurableInbox {
  onTestFinished(() => inbox.close())
  return inbox
}

const inMemory = (options: InboxOptions): DurableInbox => keep(createMemoryInbox(options))

function inSqlite(options: InboxOptions): DurableInbox {
  const folder = createFolder()
  onTestFinished(folder.remove)
  return keep(createSqliteInbox({ path: folder.fileIn('inbox.db'), ...options }))
}

/** An inbox whose observer records into `telemetry`, and reports no failure as a warning. */
function observed(telemetry: Telemetry, options: InboxOptions = {}, open = inMemory): DurableInbox {
  const { meterProvider } = telemetry.providers
  const observer = createOtelInboxObserver({
    meterProvider,
    observer: { failed() {}, dead() {}, trouble() {} },
  })
  return open({ retryDelay: 1, ...options, observer })
}

describe.each([
  { engine: 'memory', open: inMemory, tags: [] },
  { engine: 'SQLite', open: inSqlite, tags: ['sqlite'] },
])('metrics of an inbox in $engine', ({ open, tags }) => {
  it('show 250 dead letters if 250 of 251 stored deliveries die', { tags }, async () => {
    const telemetry = createTelemetry()
    const inbox = observed(telemetry, { attempts: 1 }, open)
    const receiver = createReceiver({
      signatureKey: KEY,
      inbox,
      observer: createOtelObserver(telemetry.providers),
    }).on('Good', () => {})
    receiver.on('Bad', () => {
      throw new Error('the map is away')
    })
    const bodies = [...payloads(250, 'Bad'), ...payloads(1, 'Good')]
    await Promise.all(bodies.map((body) => deliver(receiver, body)))
    const workers = inbox.work(receiver, { concurrency: 50 })
    await until(async () => (await inbox.stats()).dead + (await inbox.stats()).done === 251)
    await workers.close() // the observer is called after an end is recorded
    const points = await telemetry.points()
    expect(outcomesOf(points, 'geohook.requests')).toEqual({ stored: 251 })
    expect(outcomesOf(points, PUTS)).toEqual({ stored: 251 })
    expect(outcomesOf(points, ATTEMPTS)).toEqual({ dead: 250, handled: 1 })
    expect(statesOf(points)).toEqual({ ...NONE, dead: 250, done: 1 })
    expect(ageOf(points)).toEqual([0])
  })

  it('count attempts and deliveries by their end, and puts by their result', { tags }, async () => {
    const telemetry = createTelemetry()
    const inbox = observed(telemetry, { attempts: 3, maxPending: 1 }, open)
    const [good = '', bad = '', other = '', refused = ''] = payloads(4)
    await fill(inbox, [good])
    await fill(inbox, [good])
    await handleAll(inbox)
    await fill(inbox, [bad])
    await handleAll(inbox, 'the map is away')
    await fill(inbox, [other])
    await leaveAll(inbox)
    await fill(inbox, payloads(1))
    const receiver = createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } })
    expect((await deliver(receiver, refused)).status).toBe(503)
    const points = await telemetry.points()
    expect(outcomesOf(points, ATTEMPTS)).toEqual({ handled: 1, failed: 2, dead: 1, unhandled: 1 })
    expect(outcomesOf(points, PUTS)).toEqual({ stored: 4, duplicate: 1, failed: 1 })
    expect(statesOf(points)).toEqual({ waiting: 1, active: 0, done: 1, dead: 1, unhandled: 1 })
    for (const { name, unit, attributes } of points) {
      expect(unit).toBe(METRICS[name as Name])
      expect(attributes['messaging.destination.name']).toBe('webhook')
      expect(METRIC_ATTRIBUTES).toEqual(expect.arrayContaining(Object.keys(attributes)))
    }
    expect(JSON.stringify(points)).not.toMatch(/map is away|Features|receiver\.example/)
  })

  it('have the age of the oldest waiting delivery in seconds', { tags }, async () => {
    const telemetry = createTelemetry()
    const inbox = observed(telemetry, {}, open)
    const now = Date.now()
    const receivedAt = (time: number) => createReceiver({ signatureKey: KEY, inbox, clock: () => time })
    await deliver(receivedAt(now - 7_200_000), payloads(1)[0] ?? '')
    await deliver(receivedAt(now - 3_600_000), payloads(1)[0] ?? '')
    const [age] = ageOf(await telemetry.points())
    expect(age).toBeGreaterThanOrEqual(7_200)
    expect(age).toBeLessThanOrEqual(7_200 + (Date.now() - now) / 1_000)
    await handleAll(inbox)
    expect(ageOf(await telemetry.points())).toEqual([0])
    await deliver(receivedAt(Date.now() + 60_000), payloads(1)[0] ?? '') // by a machine whose clock is fast
    expect(ageOf(await telemetry.points())).toEqual([0])
  })
})

it('durations of attempts and puts are in seconds', async () => {
  const telemetry = createTelemetry()
  const inbox = observed(telemetry)
  const began = performance.now()
  let inHandler = 0
  const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', async () => {
    const began = performance.now()
    await new Promise((resolve) => setTimeout(resolve, 20))
    inHandler = performance.now() - began
  })
  await deliver(receiver, payloads(1)[0] ?? '')
  const workers = inbox.work(receiver)
  await until(async () => (await inbox.stats()).done === 1)
  await workers.close()
  const points = await telemetry.points()
  const inTotal = performance.now() - began
  const [attempt, put] = [ATTEMPTS, PUTS].map((name) => named(points, name as Name)[0]?.value)
  const milliseconds = (value: Point['value'] | undefined) => (value as { sum: number }).sum * 1_000
  expect(milliseconds(attempt)).toBeGreaterThanOrEqual(inHandler)
  expect(milliseconds(attempt) + milliseconds(put)).toBeLessThanOrEqual(inTotal)
})

describe('the numbers of deliveries', () => {
  it('are missing while the store is unreachable', { tags: ['sqlite'] }, async () => {
    const telemetry = createTelemetry(AggregationTemporality.DELTA)
    const folder = createFolder()
    onTestFinished(folder.remove)
    const path = join(folder.path, 'missing', 'inbox.db')
    observed(telemetry, {}, (options) => keep(createSqliteInbox({ path, ...options })))
    expect(await telemetry.points()).toEqual([])
    mkdirSync(join(folder.path, 'missing'))
    expect(statesOf(await telemetry.points())).toEqual(NONE)
  })

  it('are missing after the inbox was closed', async () => {
    const telemetry = createTelemetry(AggregationTemporality.DELTA)
    const inbox = observed(telemetry)
    expect(nameOf(await telemetry.points())).toEqual([DELIVERIES, AGE])
    await inbox.close()
    expect(await telemetry.points()).toEqual([])
  })

  it('are added if inboxes share an observer', async () => {
    const telemetry = createTelemetry(AggregationTemporality.DELTA)
    const { meterProvider } = telemetry.providers
    const observer = createOtelInboxObserver({ meterProvider })
    const inboxes = [inMemory({ observer }), inMemory({ observer })]
    for (const inbox of inboxes) await fill(inbox, payloads(2))
    expect(statesOf(await telemetry.points())).toEqual({ ...NONE, waiting: 4 })
    await inboxes[0]?.close()
    expect(statesOf(await telemetry.points())).toEqual({ ...NONE, waiting: 2 })
  })

  it('are read once for all readers that collect at the same time', async () => {
    const telemetry = createTelemetry()
    const { meterProvider } = telemetry.providers
    const observer = createOtelInboxObserver({ meterProvider })
    const { gate, release } = createGate()
    let reads = 0
    const stats = async () => {
      reads++
      await gate
      return { ...NONE, maxPending: 1, paused: false }
    }
    observer.opened?.({ stats })
    const [first, second] = [telemetry.collect(), telemetry.collect()]
    release()
    await Promise.all([first, second])
    expect(reads).toBe(1)
    expect(statesOf(await telemetry.points())).toEqual(NONE)
    expect(reads).toBe(2)
  })
})

describe('a provider that is registered later', () => {
  it('gets all metrics from the next put on, and replaces the previous one', async () => {
    const telemetries = [AggregationTemporality.DELTA, AggregationTemporality.DELTA].map(createTelemetry)
    const inbox = inMemory({ observer: createOtelInboxObserver() })
    for (const [index, telemetry] of telemetries.entries()) {
      metrics.disable()
      metrics.setGlobalMeterProvider(telemetry.providers.meterProvider)
      await fill(inbox, payloads(1))
      const points = await telemetry.points()
      expect(outcomesOf(points, PUTS)).toEqual({ stored: 1 })
      expect(statesOf(points)).toEqual({ ...NONE, waiting: index + 1 })
    }
    expect(await telemetries[0]?.points()).toEqual([])
  })
})

describe('another observer', () => {
  it('is called for every event, as a method', async () => {
    class Recorder implements Required<InboxObserver> {
      readonly calls: string[] = []
      opened = () => this.calls.push('opened')
      closed = () => this.calls.push('closed')
      trouble = () => this.calls.push('trouble')
      unhandled = () => this.calls.push('unhandled')
      put({ result }: { result: string }) {
        this.calls.push(`put ${result}`)
      }
      handled({ attempt }: { attempt: number }) {
        this.calls.push(`handled ${attempt}`)
      }
      failed({ attempt, error }: { attempt: number; error: unknown }) {
        this.calls.push(`failed ${attempt} ${error}`)
      }
      dead({ attempt, error }: { attempt: number; error: unknown }) {
        this.calls.push(`dead ${attempt} ${error}`)
      }
    }
    const observer = new Recorder()
    const inbox = inMemory({ attempts: 2, retryDelay: 1, observer: createOtelInboxObserver({ observer }) })
    await fill(inbox, payloads(1))
    await handleAll(inbox)
    await fill(inbox, payloads(1))
    await handleAll(inbox, 'x')
    await fill(inbox, payloads(1))
    await leaveAll(inbox)
    await inbox.close()
    const attempts = ['put stored', 'handled 1', 'put stored', 'failed 1 Error: x', 'dead 2 Error: x']
    expect(observer.calls).toEqual(['opened', ...attempts, 'put stored', 'unhandled', 'closed'])
  })

  it.each<[string, InboxObserver | undefined, string[]]>([
    ['has no functions', {}, ['delivery_dead', 'handler_failed']],
    ['is missing', undefined, ['delivery_dead', 'handler_failed']],
    ['has some', { dead() {} }, ['handler_failed']],
    ['has all', { failed() {}, dead() {} }, []],
  ])('leaves to warnings the failures for which it has no function, if it %s', async (_, observer, codes) => {
    const inbox = inMemory({ attempts: 2, retryDelay: 1, observer: createOtelInboxObserver({ observer }) })
    await fill(inbox, payloads(1))
    const lines = await warningsOf(() => handleAll(inbox, 'x'))
    expect(lines.map((line) => line.split(':')[0]).sort()).toEqual(codes)
  })

  it('with an unknown function is invalid', () => {
    const create = () => createOtelInboxObserver({ observer: { died() {} } as InboxObserver })
    expect(create).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })
})

describe('if one part of the SDK is broken, only its own data is missing', () => {
  const fail = (): never => {
    throw new Error('broken')
  }
  it.each([
    ['createHistogram', [DELIVERIES, AGE]],
    ['createObservableGauge', [ATTEMPTS, PUTS]],
    ['addBatchObservableCallback', [ATTEMPTS, PUTS]],
    ['removeBatchObservableCallback', [ATTEMPTS, DELIVERIES, AGE, PUTS]],
  ])('%s', async (broken, expected) => {
    const telemetry = createTelemetry()
    const meter = telemetry.providers.meterProvider.getMeter('real')
    Object.assign(meter, { [broken]: fail })
    const meterProvider = { getMeter: () => meter }
    const inbox = inMemory({ observer: createOtelInboxObserver({ meterProvider }) })
    await fill(inbox, payloads(1))
    await handleAll(inbox)
    expect(nameOf(await telemetry.points())).toEqual(expected)
    await inbox.close()
  })

  it('getMeter', async () => {
    const inbox = inMemory({ observer: createOtelInboxObserver({ meterProvider: { getMeter: fail } }) })
    await fill(inbox, payloads(1))
    await handleAll(inbox)
    expect(await inbox.stats()).toMatchObject({ done: 1 })
  })
})
