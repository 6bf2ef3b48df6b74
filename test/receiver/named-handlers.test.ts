import { createReceiver, type StoredDelivery } from 'geohook'
import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'

const inbox = createMemoryInbox()

const stored = (...changeTypes: string[]): StoredDelivery => ({
  id: '1'.repeat(32),
  rawBody: new TextEncoder().encode(payloadOf(...changeTypes)),
  contentType: 'application/json',
  headers: {},
  receivedAt: new Date(),
  profile: 'service',
})

function create() {
  const calls: string[] = []
  const receiver = createReceiver({ signatureKey: KEY })
    .on('A', () => calls.push('erp A'), { name: 'erp' })
    .on('A', () => calls.push('A'))
    .on('B', () => calls.push('erp B'), { name: 'erp' })
    .onDelivery(() => calls.push('log'), { name: 'log' })
  return { receiver, calls }
}

it('changes nothing without an inbox', async () => {
  const { receiver, calls } = create()
  expect((await deliver(receiver, payloadOf('A', 'B'))).status).toBe(200)
  expect(calls).toEqual(['erp A', 'A', 'log', 'erp B'])
})

it.each<[string | undefined, string[], string]>([
  ['erp', ['erp A', 'erp B'], 'handled'],
  ['log', ['log'], 'handled'],
  ['', ['A'], 'handled'],
  ['other', [], 'unhandled'],
  [undefined, ['erp A', 'A', 'log', 'erp B'], 'handled'],
])('handles a stored delivery with the handlers named %s', async (handler, expected, result) => {
  const { receiver, calls } = create()
  expect(await receiver.handle(stored('A', 'B'), { handler })).toBe(result)
  expect(calls).toEqual(expected)
})

it('gives handlers of a stored delivery a signal and an attempt, whatever options it gets', async () => {
  const { signal } = new AbortController()
  const seen: unknown[] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, __, context) =>
    seen.push([context.signal === signal, context.signal.aborted, context.attempt]),
  )
  await receiver.handle(stored('A'), {})
  await receiver.handle(stored('A'), { signal, attempt: 3 })
  expect(seen).toEqual([
    [false, false, 1],
    [true, false, 3],
  ])
})

it.each<[string, object, string]>([
  ['a name with a space', { name: 'my erp' }, 'name must be letters, digits, _, -, . and :, at most 100'],
  ['an empty name', { name: '' }, 'name must be letters'],
  ['a name of another type', { name: 5 }, 'name must be letters'],
  ['a long name', { name: 'x'.repeat(101) }, 'name must be letters'],
  ['no attempts', { name: 'erp', attempts: 0 }, 'attempts must be a whole number from 1 to 1000'],
  ['no time', { name: 'erp', timeout: 0 }, 'timeout must be'],
  ['no concurrency', { name: 'erp', concurrency: 0 }, 'concurrency must be'],
  ['attempts without a name', { attempts: 3 }, 'attempts needs the option name'],
  ['a timeout without a name', { timeout: 3 }, 'timeout needs the option name'],
  ['an unknown option', { nam: 'erp' }, 'unknown option nam'],
])('rejects %s', (_, options, message) => {
  const receiver = createReceiver({ signatureKey: KEY, inbox })
  const error = expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) })
  expect(() => receiver.on('A', () => {}, options)).toThrow(error)
  expect(() => receiver.onDelivery(() => {}, options)).toThrow(error)
})

it('rejects options that only an inbox can keep, and different ones for a name', () => {
  const without = createReceiver({ signatureKey: KEY })
  expect(() => without.on('A', () => {}, { name: 'erp', attempts: 3 })).toThrow('attempts needs an inbox')
  const receiver = createReceiver({ signatureKey: KEY, inbox })
    .on('A', () => {}, { name: 'erp', attempts: 3 })
    .on('B', () => {}, { name: 'erp' })
    .on('C', () => {}, { name: 'erp', attempts: 3, timeout: 5 })
    .on('C', () => {}, { name: 'erp', attempts: undefined })
  expect(() => receiver.on('D', () => {}, { name: 'erp', attempts: 4 })).toThrow(
    'the handlers named erp have different values of attempts',
  )
})
