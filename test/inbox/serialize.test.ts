import { expect, it } from 'vitest'
import { fromHead, toHead } from '../../src/inbox/serialize.ts'
import { deliveryWithId, idOf } from './deliveries.ts'

const { payload: _, events: __, changeTypes: ___, ...stored } = deliveryWithId(idOf('a'))

it.each([
  ['a key index', { keyIndex: 0 }],
  ['another key index', { keyIndex: 3 }],
  ['a tenant', { keyIndex: 0, tenant: '\u2028 __proto__ \ud83d\ude00' }],
  ['none', {}],
])('keeps a delivery with %s exactly', (_, more) => {
  // A part of a larger buffer, as Node's small buffers are.
  const rawBody = new Uint8Array([9, 9, 0, 200, 255, 9]).subarray(2, 5)
  const delivery = { ...deliveryWithId(idOf('a')), rawBody, headers: { 'x-many': ['a', 'b'] }, ...more }
  const restored = fromHead(toHead(delivery), delivery.id, rawBody, delivery.receivedAt.getTime())
  expect(restored).toStrictEqual({
    ...stored,
    receivedAt: delivery.receivedAt,
    rawBody,
    headers: delivery.headers,
    ...more,
  })
})

it.each([
  '{',
  'null',
  '{}',
  '{"contentType":"a"}',
  '{"contentType":1,"headers":{}}',
  '{"contentType":"a","headers":"b"}',
])('rejects the damaged head %s', (head) => {
  expect(() => fromHead(head, idOf('a'), new Uint8Array(), 0)).toThrow()
})
