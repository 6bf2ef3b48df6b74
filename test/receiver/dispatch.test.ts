import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fastify from 'fastify'
import { createReceiver, type Observer } from 'geohook'
import { expect, it } from 'vitest'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'
import { createRecorder } from '../helpers/recorder.ts'

it('calls handlers with the events of their change types, in the order of registration', async () => {
  const calls: string[] = []
  const receiver = createReceiver({ signatureKey: KEY })
    .on('*', (event) => calls.push(`any ${event.changeType}`))
    .on('FeaturesCreated', (event) => calls.push(`created ${event.changeType}`))
    .on(['FeaturesUpdated', 'FeaturesDeleted'], (event) => calls.push(`both ${event.changeType}`))
    .on('FeaturesEdited', (event) => calls.push(`edited ${event.changeType}`))
    .on(['FeaturesCreated', 'FeaturesEdited', '*', '*'], () => calls.push('once'))
    .on('Mine', (event) => calls.push(`mine ${event.changeType}`))
  await deliver(
    receiver,
    payloadOf('FeaturesDeleted', 'FeaturesCreated', 'AttachmentsCreated', 'FeaturesEdited'),
  )
  expect(calls).toEqual([
    'any FeaturesDeleted',
    'both FeaturesDeleted',
    'edited FeaturesDeleted',
    'once',
    'any FeaturesCreated',
    'created FeaturesCreated',
    'edited FeaturesCreated',
    'once',
    'any AttachmentsCreated',
    'once',
    'any FeaturesEdited',
    'edited FeaturesEdited',
    'once',
  ])
})

it('returns 200 for a delivery without a matching handler', async () => {
  const receiver = createReceiver({ signatureKey: KEY }).on('FeaturesCreated', () => expect.unreachable())
  expect((await deliver(receiver, payloadOf('FeaturesDeleted'))).status).toBe(200)
})

it('passes a payload of unknown shape only to wildcard handlers', async () => {
  const calls: string[] = []
  const receiver = createReceiver({ signatureKey: KEY })
    .on('FeaturesEdited', () => calls.push('edited'))
    .on('*', (event) => calls.push(`any ${JSON.stringify(event.raw)}`))
  await deliver(receiver, '{"hello":"world"}')
  expect(calls).toEqual(['any {"hello":"world"}'])
})

it('runs handlers one after another before it responds', async () => {
  const calls: string[] = []
  const slow = (name: string) => async () => {
    calls.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    calls.push(`${name} ends`)
  }
  const receiver = createReceiver({ signatureKey: KEY }).on('*', slow('first')).on('*', slow('second'))
  await deliver(receiver, payloadOf('A'))
  expect(calls).toEqual(['first begins', 'first ends', 'second begins', 'second ends'])
})

it('runs all handlers even if some fail, and reports all their errors', async () => {
  const { observer, calls: observed } = createRecorder()
  const calls: string[] = []
  const receiver = createReceiver({ signatureKey: KEY, observer })
    .on('*', () => {
      throw new Error('first')
    })
    .on('*', () => calls.push('second'))
    .on('*', () => Promise.reject('third'))
  expect((await deliver(receiver, payloadOf('A'))).status).toBe(500)
  expect(calls).toEqual(['second'])
  const cause = observed[1]?.error?.cause as AggregateError
  expect(cause).toBeInstanceOf(AggregateError)
  expect(cause.errors).toEqual([new Error('first'), 'third'])
})

it('reports the error of the only handler that failed, so that loggers print it', async () => {
  const lines: string[] = []
  const stream = { write: (line: string) => void lines.push(line) }
  // Fastify logs with pino, and with pino's serializer of errors.
  const { log } = fastify({ logger: { stream } })
  const { observer, calls } = createRecorder()
  const error = new TypeError('no database')
  const failed: Observer['failed'] = (seen) => log.error(seen.error)
  const receiver = createReceiver({ signatureKey: KEY, observer: { ...observer, failed } })
    .on('*', () => Promise.reject(error))
    .on('*', () => {})
  expect((await deliver(receiver, payloadOf('A'))).status).toBe(500)
  const { err } = JSON.parse(lines[0] ?? '') as { err: { message: string; code: string; stack: string } }
  expect([err.message, err.code]).toEqual(['Handler failed: no database', 'handler_failed'])
  expect(err.stack).toContain('caused by: TypeError: no database\n    at ')
  expect(calls.length).toBe(1)
})

it('returns 500 if a handler throws a WebhookError', async () => {
  const { WebhookError } = await import('geohook')
  const receiver = createReceiver({ signatureKey: KEY, observer: {} }).on('*', () => {
    throw new WebhookError('body_too_large')
  })
  expect((await deliver(receiver, payloadOf('A'))).status).toBe(500)
})

it('keeps no memory of unknown change types', async () => {
  const receiver = createReceiver({ signatureKey: KEY }).on('FeaturesCreated', () => {})
  const sendNames = async (round: number) => {
    const names = Array.from({ length: 8_000 }, (_, index) => `Made up ${round} ${index}`)
    expect((await deliver(receiver, payloadOf(...names))).status).toBe(200)
  }
  await sendNames(0)
  const before = heapUsed()
  for (let round = 1; round <= 8; round++) await sendNames(round)
  // If the receiver cached all 64,000 names, they would take about 7 MB.
  expect(heapUsed() - before).toBeLessThan(2_000_000)
})

/** Returns the number of bytes on V8's heap after a full garbage collection. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

it('has members that work without the receiver, also in a copy', async () => {
  const calls: string[] = []
  const receiver = createReceiver({ signatureKey: KEY })
  const { on, fetch, stats } = { ...receiver }
  expect(on('*', (event) => calls.push(event.changeType))).toBe(receiver)
  await deliver({ ...receiver, fetch }, payloadOf('FeaturesCreated'))
  expect(calls).toEqual(['FeaturesCreated'])
  expect((await stats()).outcomes.handled).toBe(1)
})
