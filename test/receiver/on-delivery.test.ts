import { createReceiver, PermanentFailure, RetryAfter, type StoredDelivery, WebhookError } from 'geohook'
import { expect, it } from 'vitest'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'
import { receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'

it('calls a handler once for each delivery, in the order of registration', async () => {
  const calls: string[] = []
  const { on, onDelivery, ...rest } = createReceiver({ signatureKey: KEY })
  on('*', ({ changeType }) => calls.push(`any ${changeType}`))
  onDelivery(({ changeTypes }, { attempt, token, together }) =>
    calls.push(`${changeTypes} ${attempt} ${token} ${together}`),
  )
  on('FeaturesCreated', () => calls.push('created'))
  await deliver(rest, payloadOf('FeaturesCreated', 'FeaturesDeleted', 'FeaturesCreated'))
  expect(calls).toEqual([
    'any FeaturesCreated',
    'FeaturesCreated,FeaturesDeleted 1 undefined undefined',
    'created',
    'any FeaturesDeleted',
    'any FeaturesCreated',
    'created',
  ])
})

it('is a handler for a payload of any shape', async () => {
  const bodies: string[] = []
  const receiver = createReceiver({ signatureKey: KEY }).onDelivery(({ rawBody }) =>
    bodies.push(String(Buffer.from(rawBody))),
  )
  const answers = await Promise.all(['{"hello":"world"}', '[]', '{}'].map((body) => deliver(receiver, body)))
  expect(answers.map(({ body }) => body.status)).toEqual(['handled', 'handled', 'handled'])
  expect(bodies.sort()).toEqual(['[]', '{"hello":"world"}', '{}'])
})

it('runs once for each of several deliveries that are handled together, oldest first', async () => {
  const calls: unknown[] = []
  const receiver = createReceiver({ signatureKey: KEY })
    .onDelivery(({ id }, { token, together }) => calls.push([id, token, together]))
    .on('B', ({ changeType }, _, { token }) => calls.push([changeType, token]))
  const stored = [2, 1].map(
    (number): StoredDelivery => ({
      id: `${number}`.repeat(32),
      rawBody: new TextEncoder().encode(payloadOf('A', 'B')),
      contentType: 'application/json',
      headers: {},
      receivedAt: new Date(number),
      profile: 'service',
    }),
  )
  const context = { signal: new AbortController().signal, attempt: 1, tokens: [8, 7] }
  expect(await receiverPort(receiver).handleTogether(stored, context)).toEqual(['handled', 'handled'])
  expect(calls).toEqual([
    ['1'.repeat(32), 7, undefined],
    ['2'.repeat(32), 8, undefined],
    ['B', 7],
    ['B', 8],
  ])
})

it('requires a function', () => {
  const receiver = createReceiver({ signatureKey: KEY })
  expect(() => receiver.onDelivery('log' as never)).toThrow('onDelivery(handler): handler must be a function')
})

const now = Date.parse('2026-11-30T12:00:00Z')

it.each<[string, unknown[], string | null]>([
  ['an error', [new Error('down')], null],
  ['a permanent failure', [new PermanentFailure('no parcel')], null],
  ['seconds', [new RetryAfter(30)], '30'],
  ['a part of a second', [new RetryAfter(0.2)], '1'],
  ['a time', [new RetryAfter(new Date(now + 90_000))], '90'],
  ['a time in the past', [new RetryAfter(new Date(0))], '0'],
  ['the latest of several', [new RetryAfter(5), new Error('down'), new RetryAfter(9)], '9'],
  ['an error of another class with its code', [{ code: 'retry_after', after: 7 }], '7'],
  ['an invalid time', [{ code: 'retry_after', after: '7\r\nx: y' }], null],
  ['nothing', [undefined], null],
  [
    'an error that cannot be read',
    [
      Object.defineProperty({}, 'code', {
        get() {
          throw new Error('no')
        },
      }),
    ],
    null,
  ],
])('answers 500 with the time that a handler asked for: %s', async (_, thrown, header) => {
  const { observer } = createRecorder()
  const receiver = createReceiver({ signatureKey: KEY, observer, clock: () => now })
  for (const one of thrown)
    receiver.onDelivery(() => {
      throw one
    })
  const answer = await deliver(receiver, payloadOf('FeaturesCreated'))
  expect([answer.status, answer.body.code]).toEqual([500, 'handler_failed'])
  expect(answer.headers.get('retry-after')).toBe(header)
})

it.each([-1, Number.NaN, Infinity, new Date(Number.NaN), '30', undefined])(
  'rejects a delay of %s',
  (after) => {
    expect(() => new RetryAfter(after as never)).toThrow(WebhookError)
  },
)

it('keeps the message and the cause', () => {
  const cause = new Error('429')
  expect(new RetryAfter(1, { message: 'busy', cause })).toMatchObject({ message: 'busy', cause, after: 1 })
  expect(new RetryAfter(1).message).toBe('the handler asked for a later attempt')
  expect(new PermanentFailure('no', { cause })).toMatchObject({ message: 'no', cause })
  expect([String(new RetryAfter(1, { message: 'busy' })), String(new PermanentFailure('no'))]).toEqual([
    'RetryAfter: busy',
    'PermanentFailure: no',
  ])
})
