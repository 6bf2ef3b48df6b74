import { runInNewContext } from 'node:vm'
import {
  type AttemptContext,
  createReceiver,
  type Delivery,
  type HandlerContext,
  type StoredDelivery,
} from 'geohook'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'

/** Returns the delivery as an inbox stores it. */
async function store(payload: string): Promise<StoredDelivery> {
  const stored: Delivery[] = []
  const inbox = { put: async (delivery: Delivery) => void stored.push(delivery) }
  expect((await deliver(createReceiver({ signatureKey: KEY, inbox }), payload)).status).toBe(202)
  const { id, rawBody, contentType, headers, receivedAt, profile } = stored[0] as Delivery
  return { id, rawBody, contentType, headers, receivedAt, profile }
}

describe('receiver.handle', () => {
  it('decodes a delivery from its bytes, and calls its handlers with the context', async () => {
    const calls: unknown[] = []
    const schema = z.object({ serviceName: z.string().transform((name) => name.toUpperCase()) })
    const receiver = createReceiver({ signatureKey: KEY, schema }).on(
      'FeaturesCreated',
      (event, { id, payload }, context) => calls.push([event.changeType, id, payload.serviceName, context]),
    )
    const stored = await store(payloadOf('FeaturesCreated'))
    const context: AttemptContext = { signal: new AbortController().signal, attempt: 3, rerun: true }
    await receiver.handle(stored, context)
    expect(calls).toEqual([['FeaturesCreated', stored.id, 'PARCELS', expect.objectContaining(context)]])
  })

  it('decodes the bytes even if the stored object still has its decoded payload and events', async () => {
    const calls: unknown[] = []
    const schema = z.object({ serviceName: z.string().transform((name) => [name]) })
    const receiver = createReceiver({ signatureKey: KEY, schema }).on('*', (event, { payload }) =>
      calls.push([event.changeType, payload.serviceName]),
    )
    const stored = await store(payloadOf('FeaturesCreated'))
    const decoded = { payload: { serviceName: ['Parcels'] }, changeTypes: ['Other'], events: [] }
    await receiver.handle({ ...stored, ...decoded } as Delivery)
    expect(calls).toEqual([['FeaturesCreated', ['Parcels']]])
  })

  it('starts no further handler after the signal is aborted', async () => {
    const controller = new AbortController()
    const begun: string[] = []
    const receiver = createReceiver({ signatureKey: KEY }).on('*', (event) => {
      begun.push(event.changeType)
      controller.abort(new Error('late'))
    })
    const stored = await store(payloadOf('A', 'B', 'C'))
    const handling = receiver.handle(stored, { signal: controller.signal, attempt: 1 })
    await expect(handling).rejects.toThrow('late')
    expect(begun).toEqual(['A'])
  })

  it('rejects with the error of the handler', async () => {
    const error = new Error('no database')
    const receiver = createReceiver({ signatureKey: KEY }).on('*', () => Promise.reject(error))
    const handling = receiver.handle(await store('{}'))
    expect(await handling.catch((thrown: unknown) => thrown)).toBe(error)
  })

  it('rejects with the errors of several handlers', async () => {
    const receiver = createReceiver({ signatureKey: KEY })
    for (const message of ['first', 'second']) receiver.on('*', () => Promise.reject(new Error(message)))
    await expect(receiver.handle(await store('{}'))).rejects.toMatchObject({
      name: 'AggregateError',
      message: 'handlers failed',
      errors: [{ message: 'first' }, { message: 'second' }],
    })
  })

  it.each([
    ['null', null, 'stored must be a delivery'],
    ['text', '{}', 'stored must be a delivery'],
    ['no body', {}, 'stored.rawBody must be a Uint8Array'],
    ['a body that is text', { rawBody: '{}' }, 'stored.rawBody must be a Uint8Array'],
    ['a body that is JSON of bytes', { rawBody: { 0: 123, 1: 125 } }, 'stored.rawBody must be a Uint8Array'],
  ])('rejects %s in place of a stored delivery', async (_, stored, message) => {
    const receiver = createReceiver({ signatureKey: KEY }).on('*', () => expect.unreachable())
    const handling = receiver.handle(stored as never)
    await expect(handling).rejects.toMatchObject({ name: 'WebhookError', code: 'config_invalid' })
    await expect(handling).rejects.toThrow(message)
    const isAboutBytes = message.includes('rawBody')
    const hint = isAboutBytes ? 'store delivery.rawBody itself, for example in base64.' : ''
    await expect(handling).rejects.toMatchObject({ hint: expect.stringContaining(hint) })
  })

  it('accepts bytes from another realm', async () => {
    const rawBody: Uint8Array = runInNewContext('new Uint8Array([123, 125])')
    const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
    expect(await receiver.handle({ ...(await store('{}')), rawBody })).toBe('handled')
  })

  it('rejects if the receiver has no handlers', async () => {
    const receiver = createReceiver({ signatureKey: KEY })
    await expect(receiver.handle(await store('{}'))).rejects.toMatchObject({
      code: 'config_invalid',
      message: 'handle() needs a handler: call receiver.on() first',
    })
  })

  it('rejects a delivery that the schema no longer accepts', async () => {
    const receiver = createReceiver({ signatureKey: KEY, schema: z.object({ a: z.string() }) }).on(
      '*',
      () => {},
    )
    await expect(receiver.handle(await store('{}'))).rejects.toMatchObject({ code: 'payload_invalid' })
  })
})

it('passes a signal that is not aborted, and attempt 1, to handlers without an inbox', async () => {
  const contexts: HandlerContext[] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, __, context) => contexts.push(context))
  expect((await deliver(receiver, '{}')).status).toBe(200)
  expect(contexts.map(({ signal, attempt }) => [signal.aborted, attempt])).toEqual([[false, 1]])
})

it('returns duplicate if the inbox already has the delivery', async () => {
  const inbox = { put: async () => 'duplicate' as const }
  const answer = await deliver(createReceiver({ signatureKey: KEY, inbox }), '{}')
  expect([answer.status, answer.body]).toEqual([200, { status: 'duplicate' }])
})
