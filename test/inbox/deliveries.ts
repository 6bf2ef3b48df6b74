import type { Delivery } from 'geohook'

let number = 0

/** Creates a delivery with a unique id, like those that a receiver passes to an inbox. */
export const deliveryOf = (rawBody = new Uint8Array(10)): Delivery => ({
  ...deliveryWithId(`${number++}`.padStart(32, '0')),
  rawBody,
  changeTypes: [],
})

/** Creates a delivery with a given id and the body `{}`. */
export const deliveryWithId = (id: string): Delivery => ({
  id,
  rawBody: new Uint8Array([123, 125]),
  contentType: 'application/json',
  headers: {},
  receivedAt: new Date(),
  profile: 'service',
  payload: {},
  events: [],
  changeTypes: ['FeaturesCreated'],
})

/** Repeats a hexadecimal digit to the length of an id. */
export const idOf = (digit: number | string): string => `${digit}`.repeat(32)

/** Creates a delivery about the edits of a service. */
export function editOf(service = 'Parcels', size = 0): Delivery {
  const changesUrl = `https://gis.example.com/rest/services/${service}/FeatureServer/extractChanges?serverGens=[1,2]`
  const events = [{ eventType: 'FeaturesCreated' }]
  return deliveryOf(new TextEncoder().encode(JSON.stringify({ changesUrl, events, more: 'x'.repeat(size) })))
}
