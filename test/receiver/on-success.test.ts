import { createReceiver, type HandlerContext } from 'geohook'
import { expect, it } from 'vitest'
import { KEY, payloadOf } from '../helpers/deliver.ts'

const stored = {
  id: '0'.repeat(32),
  rawBody: new TextEncoder().encode(payloadOf('FeaturesCreated')),
  contentType: 'application/json',
  headers: {},
  receivedAt: new Date(),
  profile: 'service',
}

it('runs the functions passed to onSuccess, the last one first, after all handlers and before handle() resolves', async () => {
  const order: string[] = []
  const receiver = createReceiver({ signatureKey: KEY })
    .on('*', (_, __, { onSuccess }) => {
      onSuccess(async () => order.push('first function'))
      onSuccess(() => order.push('second function'))
      order.push('first handler')
    })
    .on('*', () => order.push('second handler'))
  await receiver.handle(stored)
  expect(order).toEqual(['first handler', 'second handler', 'second function', 'first function'])
})

it('runs none of them if a handler fails', async () => {
  const ran: string[] = []
  const receiver = createReceiver({ signatureKey: KEY })
    .on('*', (_, __, { onSuccess }) => onSuccess(() => ran.push('function')))
    .on('*', () => {
      throw new Error('broken')
    })
  await expect(receiver.handle(stored)).rejects.toThrow('broken')
  expect(ran).toEqual([])
})

it('fails the attempt if one of them fails, or if the signal is aborted before it runs', async () => {
  const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, __, { onSuccess }) =>
    onSuccess(() => Promise.reject(new Error('not stored'))),
  )
  await expect(receiver.handle(stored)).rejects.toThrow('not stored')

  const controller = new AbortController()
  const ran: string[] = []
  const aborted = createReceiver({ signatureKey: KEY }).on('*', (_, __, { onSuccess }) => {
    onSuccess(() => ran.push('function'))
    controller.abort(new Error('taken over'))
  })
  await expect(aborted.handle(stored, { signal: controller.signal, attempt: 1 })).rejects.toThrow(
    'taken over',
  )
  expect(ran).toEqual([])
})

it('gives all handlers of an attempt the same context and the same signal', async () => {
  const contexts: HandlerContext[] = []
  const signals: AbortSignal[] = []
  const add = (_: unknown, __: unknown, context: HandlerContext) => {
    contexts.push(context)
    signals.push(context.signal)
  }
  await createReceiver({ signatureKey: KEY }).on('*', add).on('*', add).handle(stored)
  expect(new Set(contexts).size).toBe(1)
  expect(new Set(signals).size).toBe(1)
})
