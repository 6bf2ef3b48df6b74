import { createReceiver, type Delivery, type HandlerContext, type StoredDelivery } from 'geohook'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'

/** What an inbox is given of one delivery. */
async function store(payload: string): Promise<StoredDelivery> {
  const stored: Delivery[] = []
  const inbox = { put: async (delivery: Delivery) => void stored.push(delivery) }
  expect((await deliver(createReceiver({ signatureKey: KEY, inbox }), payload)).status).toBe(202)
  const { id, rawBody, contentType, headers, receivedAt, profile } = stored[0] as Delivery
  return { id, rawBody, contentType, headers, receivedAt, profile }
}

describe('receiver.handle', () => {
  it('decodes a delivery from its bytes, and runs its handlers with the context', async () => {
    const seen: unknown[] = []
    const schema = z.object({ serviceName: z.string().transform((name) => name.toUpperCase()) })
    const receiver = createReceiver({ signatureKey: KEY, schema }).on(
      'FeaturesCreated',
      (event, { id, payload }, context) => seen.push([event.changeType, id, payload.serviceName, context]),
    )
    const stored = await store(payloadOf('FeaturesCreated'))
    const context: HandlerContext = { signal: new AbortController().signal, attempt: 3 }
    await receiver.handle(stored, context)
    expect(seen).toEqual([['FeaturesCreated', stored.id, 'PARCELS', context]])
  })

  it('begins no other handler when the signal is aborted', async () => {
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

  it('rejects with what the handlers threw', async () => {
    const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {
      throw new Error('no database')
    })
    await expect(receiver.handle(await store('{}'))).rejects.toMatchObject({
      name: 'AggregateError',
      errors: [{ message: 'no database' }],
    })
  })

  it('does not take a delivery that nobody would handle', async () => {
    const receiver = createReceiver({ signatureKey: KEY })
    await expect(receiver.handle(await store('{}'))).rejects.toMatchObject({ code: 'config_invalid' })
  })

  it('rejects what the schema no longer takes', async () => {
    const receiver = createReceiver({ signatureKey: KEY, schema: z.object({ a: z.string() }) }).on(
      '*',
      () => {},
    )
    await expect(receiver.handle(await store('{}'))).rejects.toMatchObject({ code: 'payload_invalid' })
  })
})

it('without an inbox, handlers get a signal that is not aborted, and attempt 1', async () => {
  const seen: HandlerContext[] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, __, context) => seen.push(context))
  expect((await deliver(receiver, '{}')).status).toBe(200)
  expect(seen.map(({ signal, attempt }) => [signal.aborted, attempt])).toEqual([[false, 1]])
})

it('an inbox that has a delivery already makes it a duplicate', async () => {
  const inbox = { put: async () => 'duplicate' as const }
  const answer = await deliver(createReceiver({ signatureKey: KEY, inbox }), '{}')
  expect([answer.status, answer.body]).toEqual([200, { status: 'duplicate' }])
})
